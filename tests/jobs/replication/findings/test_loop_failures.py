"""Flows that lead in a circle."""

import pytest

from jobs.replication.findings.loop_failures import chain_of, returned_topics
from jobs.replication.policy import DefaultReplicationPolicy, IdentityReplicationPolicy
from tests.jobs.replication.pictures import codes, look, picture

POLICY = DefaultReplicationPolicy()


def test_a_cluster_copied_into_itself_is_found():
    found = look(picture(source_cluster_id="x", target_cluster_id="x"))
    assert codes(found) == ["same_cluster"]
    assert codes(look(picture(source_cluster_id="x", target_cluster_id="y"))) == []
    assert codes(look(picture())) == []


def test_a_topic_copied_back_under_its_name_is_told_with_how_it_is_known():
    known = {"orders": "The flow back copies it back."}
    (finding,) = look(picture(copied_back=known, returned=[])).findings
    assert (finding.code, finding.severity, finding.subject) == ("loop", "critical", "orders")
    assert finding.sentence.endswith("The flow back copies it back.")


def test_a_copy_that_came_home_is_told():
    assert codes(look(picture(copied_back={}, returned=["east.west.orders"]))) == ["loop"]


@pytest.mark.parametrize(
    ("topic", "on_source", "expected"),
    [
        pytest.param("east.west.orders", {"west.orders"}, True, id="it began on the target"),
        pytest.param(
            "east.north.west.orders", {"north.west.orders"}, True, id="over another cluster"
        ),
        pytest.param(
            "east.east.orders", {"east.orders"}, True, id="the source copied its own copy"
        ),
        pytest.param("east.west.orders", set(), False, id="only its name looks so"),
        pytest.param("east.orders", {"orders"}, False, id="a plain copy"),
        pytest.param("east.north.orders", {"north.orders"}, False, id="passed on"),
        pytest.param("north.west.orders", {"west.orders"}, False, id="another flow's copy"),
        pytest.param(
            "east.west.checkpoints.internal", {"west.checkpoints.internal"}, False, id="internal"
        ),
    ],
)
def test_which_names_came_home(topic, on_source, expected):
    found = returned_topics(POLICY, "east", "west", [topic], on_source)
    assert found == ([topic] if expected else [])


def test_names_that_stay_tell_nothing():
    policy = IdentityReplicationPolicy("east")
    assert returned_topics(policy, "east", "west", ["orders"], {"orders"}) == []


def test_a_chain_names_a_cluster_as_often_as_it_was_passed():
    assert list(chain_of(POLICY, "a.b.a.orders")) == ["a", "b", "a"]
    assert list(chain_of(IdentityReplicationPolicy("a"), "orders")) == []
