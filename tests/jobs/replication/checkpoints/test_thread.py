"""The thread of checkpoints: one after the other, also when the settings of a running flow change."""

import threading

from jobs.cluster.connection import Connection
from jobs.lab.plan import standard_plans
from jobs.lab.ports import find_base_port
from jobs.replication.checkpoints.thread import CheckpointThread
from jobs.replication.flow.spec import FlowSpec
from tests.waiting import eventually


class Hanging(CheckpointThread):
    """The thread of the settings before, in a round that a slow cluster holds."""

    def __init__(self, flow: FlowSpec) -> None:
        super().__init__(flow)
        self.asked, self.is_over = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.asked.set()
        self.is_over.wait()


def flow(**settings) -> FlowSpec:
    nowhere = f"127.0.0.1:{find_base_port(standard_plans)}"
    ends = [Connection(alias=alias, bootstrap_servers=nowhere) for alias in ("east", "west")]
    return FlowSpec("east to west", *ends, **settings)


def test_the_first_round_waits_for_the_last_one_with_the_settings_before():
    before = Hanging(flow())
    with CheckpointThread(before._flow, after=before) as thread:
        assert before.asked.wait(10)
        assert thread.to_mapping() is None
        before.is_over.set()
        eventually(lambda: thread.to_mapping() is not None, within=60)


def test_it_waits_also_past_settings_without_checkpoints():
    before = Hanging(flow())
    never = CheckpointThread(flow(emit_checkpoints_interval_s=0), after=before)
    with never, CheckpointThread(before._flow, after=never):
        assert before.asked.wait(10)
        before.is_over.set()
