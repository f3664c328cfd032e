"""Every fault says what ends it: time, a new beginning, a person, or nothing."""

import importlib
import pkgutil

import pytest

import console
import jobs
from jobs.cluster.errors import ClusterFault, Remedy

RETRY = {
    "unreachable",
    "name_not_resolved",
    "timed_out",
    "connection_lost",
    "broker_not_known",
    "unavailable",
    "leader_moved",
    "coordinator_moved",
    "unknown_topic_id",
    "no_leader",
    "log_damaged",
    "snapshot_gone",
    "stale_broker_epoch",
    "secret_replaced",
}
START_OVER = {"outcome_unknown", "offset_out_of_range", "out_of_sequence", "transaction_failed"}
OPERATOR = {
    "answer",
    "authentication_failed",
    "not_authorized",
    "record_too_large",
    "secret_missing",
    "refused",
    "producer_fenced",
    "positions_moved",
    "no_eligible_leader",
    "broker_not_registered",
}
FINAL = {
    "tls_failed",
    "protocol_mismatch",
    "not_a_broker",
    "cluster_id_changed",
    "several_clusters",
    "registered_twice",
    "same_cluster",
    "read_only",
    "version_not_offered",
    "version_refused",
    "no_streams_groups",
    "no_share_groups",
    "batch_refused",
    "log_diverged",
    "no_quorum",
    "not_a_controller",
    "no_reassignment",
}
# Of one code, a topic that no broker knows yet is retried, and one that the client library misses is not.
BY_NAME = {
    "TopicUnknown": Remedy.RETRY,
    "UnknownTopicOrPartition": Remedy.OPERATOR,
    "_Another": Remedy.FINAL,
}
EXPECTED = {
    code: remedy
    for remedy, codes in {
        Remedy.RETRY: RETRY,
        Remedy.START_OVER: START_OVER,
        Remedy.OPERATOR: OPERATOR,
        Remedy.FINAL: FINAL,
    }.items()
    for code in codes
}


def every_fault() -> list[type[ClusterFault]]:
    """Return all classes of faults, after everything was imported."""
    for package in (jobs, console):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations" not in module.name and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    found, waiting = [], [ClusterFault]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            if kind not in found and kind.__module__.startswith(("jobs.", "console.")):
                found.append(kind)
                waiting.append(kind)
    return found


@pytest.fixture(scope="module")
def faults():
    return every_fault()


def test_every_class_states_its_own_remedy(faults):
    assert len(faults) > 40
    assert [kind.__qualname__ for kind in faults if "remedy" not in vars(kind)] == []


def test_every_class_has_the_remedy_that_is_agreed_on(faults):
    agreed = {kind: BY_NAME.get(kind.__name__) or EXPECTED.get(kind.code) for kind in faults}
    assert {kind.__name__: kind.remedy for kind in faults} == {
        kind.__name__: remedy for kind, remedy in agreed.items()
    }


def test_every_class_tells_what_to_do(faults):
    assert [kind.__name__ for kind in faults if not kind.hint.strip().endswith(".")] == []


@pytest.mark.parametrize(
    ("remedy", "is_retriable", "is_final"),
    [
        pytest.param(Remedy.RETRY, True, False, id="time"),
        pytest.param(Remedy.DOUBTFUL, True, False, id="time, or wrong settings"),
        pytest.param(Remedy.START_OVER, False, False, id="a new beginning"),
        pytest.param(Remedy.OPERATOR, False, False, id="a person"),
        pytest.param(Remedy.FINAL, False, True, id="nothing"),
    ],
)
def test_only_what_passes_by_itself_is_asked_again_as_it_was(remedy, is_retriable, is_final):
    fault = ClusterFault("no", cluster="east")
    fault.remedy = remedy
    assert (fault.retriable, fault.is_final) == (is_retriable, is_final)
