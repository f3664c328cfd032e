"""Why a task ended, as it says itself, over a real socket: the run ends with it, or the task begins again."""

import pytest

from jobs.cluster.errors import NotAuthorized
from jobs.cluster.protocol.errors import VersionNotOffered
from tests.jobs.spark.flow_driver.test_driver_loop import FOUR, FakeClusters, World, where
from tests.waiting import eventually

pytestmark = pytest.mark.slow


def test_a_task_that_can_never_copy_ends_the_run_with_its_reason(tmp_path):
    with World(tmp_path, FakeClusters(t=4)) as world:
        world.wait_for_owners(*FOUR)
        task = world.owner(where(0))
        task.channel.report_fault(VersionNotOffered("too old", cluster="west", hint="Update it."))
        task.die()
        eventually(lambda: not world._thread.is_alive())
    refused = world.loop.patience.refused
    assert (refused.code, str(refused), refused.hint, refused.is_final) == (
        "version_not_offered",
        "west: too old",
        "Update it.",
        True,
    )
    assert len(world.tasks) == 2
    assert (world.row(where(0))["state"], world.row(where(0))["reason"]) == (
        "failed",
        "west: too old Update it.",
    )


def test_a_task_that_waits_for_a_person_begins_again(tmp_path):
    with World(tmp_path, FakeClusters(t=4)) as world:
        world.wait_for_owners(*FOUR)
        task = world.owner(where(0))
        task.channel.report_fault(NotAuthorized("no right", cluster="west"))
        task.die()
        eventually(lambda: world.owner(where(0)) not in (None, task))
        assert world.loop.patience.refused is None
