import pytest

from console.frame.errors import ActionRefused
from console.replication.flows.actions import (
    accept_new_topics,
    change_flow,
    check_settings,
    create_flow,
    delete_flow,
    settings_of,
    start_flow,
    stop_flow,
)
from console.replication.flows.models import FlowTopic, ReplicationFlow
from console.runs.models import RunState
from jobs.cluster.errors import InvalidFields
from tests.console.making import NOW, make_cluster, make_flow, make_run, make_topic

pytestmark = pytest.mark.django_db


def values(**changes):
    return {"name": "f", "source": "east", "target": "west", "topics": ["orders"]} | changes


@pytest.fixture
def clusters():
    return make_cluster("east"), make_cluster("west")


def test_a_flow_is_written_with_defaults_and_not_started(clusters):
    flow = create_flow(values(), None, NOW)
    flow.refresh_from_db()
    assert (flow.topics, flow.policy, flow.is_wanted) == (["orders"], "default", False)
    assert flow.spec().source.alias == "east"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"name": ""}, "name", id="no name"),
        pytest.param({"source": ""}, "source", id="no source"),
        pytest.param({"target": "north"}, "target", id="unknown target"),
        pytest.param({"target": "east"}, "target", id="same cluster twice"),
        pytest.param({"topics": ["("]}, "topics", id="not a pattern"),
        pytest.param({"tasks": 0}, "tasks", id="no task"),
        pytest.param({"policy": "prefix"}, "policy", id="unknown policy"),
        pytest.param(
            {"consumer.sasl.jaas.config": "x"}, "consumer.sasl.jaas.config", id="client setting"
        ),
    ],
)
def test_a_bad_value_is_said_at_its_field(clusters, changes, field):
    with pytest.raises(InvalidFields) as refused:
        create_flow(values(**changes), None, NOW)
    assert set(refused.value.errors) == {field}


def test_every_bad_field_is_named_at_once(clusters):
    with pytest.raises(InvalidFields) as refused:
        create_flow(values(name="", target="", topics=["("]), None, NOW)
    assert set(refused.value.errors) == {"name", "target", "topics"}


def test_a_name_is_used_once(clusters):
    create_flow(values(), None, NOW)
    with pytest.raises(InvalidFields, match="a flow named f already"):
        create_flow(values(topics=["clicks"]), None, NOW)


def test_a_topic_is_in_one_flow_of_a_pair_only(clusters):
    make_topic(clusters[0], "orders")
    create_flow(values(), None, NOW)
    with pytest.raises(InvalidFields, match="Topic orders is replicated by flow f already"):
        create_flow(values(name="g", topics=["ord.*"]), None, NOW)


def test_identity_flows_in_both_directions_are_refused(clusters):
    make_topic(clusters[1], "orders")
    create_flow(values(policy="identity"), None, NOW)
    with pytest.raises(InvalidFields, match="its records would loop"):
        create_flow(values(name="back", source="west", target="east", policy="identity"), None, NOW)


def test_default_flows_in_both_directions_are_fine(clusters):
    make_topic(clusters[1], "orders")
    create_flow(values(), None, NOW)
    assert create_flow(values(name="back", source="west", target="east"), None, NOW).pk


def test_two_sources_never_write_one_remote_topic(clusters):
    make_topic(clusters[0], "orders"), make_topic(make_cluster("north"), "orders")
    create_flow(values(policy="identity"), None, NOW)
    with pytest.raises(InvalidFields, match=r"orders is written by .* would be mixed") as refused:
        create_flow(values(name="g", source="north", policy="identity"), None, NOW)
    assert set(refused.value.errors) == {"topics"}


def test_a_name_that_another_policy_makes_is_written_by_one_flow_only(clusters):
    make_topic(clusters[0], "orders"), make_topic(make_cluster("north"), "east.orders")
    create_flow(values(), None, NOW)
    with pytest.raises(InvalidFields, match=r"east\.orders is written by"):
        create_flow(
            values(name="g", source="north", topics=["east.orders"], policy="identity"), None, NOW
        )


def test_a_change_cannot_make_two_sources_write_one_remote_topic(clusters):
    make_topic(clusters[0], "orders"), make_topic(make_cluster("north"), "orders")
    create_flow(values(policy="identity"), None, NOW)
    flow = create_flow(values(name="g", source="north"), None, NOW)
    with pytest.raises(InvalidFields, match="would be mixed"):
        change_flow(flow, {"policy": "identity"})


@pytest.mark.parametrize(
    "changes", [{"policy": "default"}, {"topics_exclude": ["orders"]}, {"target": "south"}]
)
def test_two_sources_with_names_of_their_own_stand_beside_each_other(clusters, changes):
    make_topic(clusters[0], "orders"), make_topic(make_cluster("north"), "orders")
    make_cluster("south")
    create_flow(values(policy="identity"), None, NOW)
    one = values(name="g", source="north", policy="identity") | changes
    assert create_flow(one, None, NOW, confirm="g").pk


def test_a_change_keeps_what_was_not_given(clusters):
    flow = create_flow(values(separator="_"), None, NOW)
    change_flow(flow, {"tasks": 3})
    assert settings_of(ReplicationFlow.objects.get())["separator"] == "_"
    assert ReplicationFlow.objects.get().tasks == 3


def test_source_and_target_cannot_change(clusters):
    make_cluster("north")
    with pytest.raises(InvalidFields, match="create another flow"):
        change_flow(create_flow(values(), None, NOW), {"target": "north"})


def test_checking_writes_nothing(clusters):
    assert check_settings(values()).name == "f"
    assert not ReplicationFlow.objects.exists()


def test_stop_and_start_change_what_is_wanted():
    flow = make_flow()
    start_flow(flow)
    assert ReplicationFlow.objects.get().is_wanted
    stop_flow(flow)
    assert not ReplicationFlow.objects.get().is_wanted


def test_a_flow_that_is_being_deleted_does_not_start():
    with pytest.raises(ActionRefused):
        start_flow(make_flow(deletion_asked_at=NOW))


def test_an_idle_flow_is_deleted_at_once():
    flow = make_flow()
    make_run(flow, state=RunState.STOPPED)
    assert delete_flow(flow, NOW)
    assert not ReplicationFlow.objects.exists()


def test_accepting_forgets_the_old_id_of_that_topic_only():
    flow = make_flow(topic_ids={"orders": "old", "clicks": "c"})
    FlowTopic.objects.create(flow=flow, topic="orders", accepts_new=True, updated_at=NOW)
    accept_new_topics(flow, ["orders"])
    flow.refresh_from_db()
    assert (flow.topic_ids, flow.reset_topics) == ({"clicks": "c"}, ["orders"])
    assert not FlowTopic.objects.get().accepts_new


@pytest.mark.parametrize("topics", [[], ["unknown"]])
def test_accepting_names_a_topic_of_the_flow(topics):
    with pytest.raises(InvalidFields):
        accept_new_topics(make_flow(), topics)


@pytest.fixture
def aliases_of_one_cluster():
    return make_cluster("east", cluster_id="id-1"), make_cluster("west", cluster_id="id-1")


@pytest.mark.parametrize(
    "do",
    [
        pytest.param(lambda: create_flow(values(), None, NOW), id="create"),
        pytest.param(lambda: check_settings(values()), id="check and preview"),
        pytest.param(lambda: change_flow(make_flow(), {"tasks": 2}), id="change"),
    ],
)
def test_a_flow_from_a_cluster_to_itself_is_refused_and_names_the_cluster(
    aliases_of_one_cluster, do
):
    with pytest.raises(InvalidFields) as refusal:
        do()
    problem = refusal.value.errors["target"]
    assert "east and west are the same cluster (cluster id id-1)" in problem


def test_a_flow_whose_clusters_turned_out_to_be_one_does_not_start(aliases_of_one_cluster):
    flow = make_flow()
    with pytest.raises(ActionRefused, match="same cluster"):
        start_flow(flow)
    flow.refresh_from_db()
    assert flow.is_wanted is False


def test_a_flow_that_selects_no_topic_is_made_when_its_name_is_typed_again(clusters):
    make_topic(clusters[0], "clicks")
    with pytest.raises(InvalidFields) as refused:
        create_flow(values(), None, NOW)
    assert "0 of 1 topics of east match" in refused.value.errors["confirm"]
    assert create_flow(values(), None, NOW, confirm="f").pk


def test_a_change_is_confirmed_only_for_what_it_brings(clusters):
    make_topic(clusters[0], "orders")
    make_topic(clusters[0], "west.orders")
    flow = create_flow(values(), None, NOW)
    with pytest.raises(InvalidFields, match="came from west"):
        change_flow(flow, {"policy": "identity", "topics": ["west.orders"]})
    changed = {"policy": "identity", "topics": ["west.orders"]}
    change_flow(flow, changed, confirm="f")
    change_flow(flow, {"tasks": 3})
    assert ReplicationFlow.objects.get().tasks == 3


def test_a_change_that_copies_more_back_is_confirmed_again(clusters):
    for name in ("east.orders", "east.clicks"):
        make_topic(clusters[1], name)
    back = values(source="west", target="east", topics=["east.orders"], policy="identity")
    flow = create_flow(back, None, NOW, confirm="f")
    change_flow(flow, {"tasks": 2})
    with pytest.raises(InvalidFields, match=r"east\.clicks") as refused:
        change_flow(flow, {"topics": ["east.orders", "east.clicks"]})
    assert set(refused.value.errors) == {"confirm"}
