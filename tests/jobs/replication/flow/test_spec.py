"""Flows from untrusted values: good ones survive a round trip, bad ones are named at their field."""

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.spec import (
    DEFAULT_TOPICS_EXCLUDE,
    FlowSpec,
    OnExisting,
    OnRecreated,
    PolicyName,
)
from tests.support import conformance_cases

EAST = {"alias": "east", "bootstrap_servers": "127.0.0.1:9092"}
WEST = {"alias": "west", "bootstrap_servers": "127.0.0.1:9192"}
FLOW = {"name": "east->west", "source": EAST, "target": WEST}


def errors_of(**change):
    with pytest.raises(InvalidFields) as caught:
        FlowSpec.from_mapping(FLOW | change)
    return caught.value.errors


def test_the_smallest_flow_has_mirror_makers_defaults():
    flow = FlowSpec.from_mapping(FLOW)
    assert flow.topics == (".*",)
    assert flow.topics_exclude == DEFAULT_TOPICS_EXCLUDE
    assert (flow.policy, flow.separator, flow.tasks) == (PolicyName.DEFAULT, ".", 1)
    assert flow.on_recreated is OnRecreated.STOP


def test_remote_topics_follow_their_sources_but_nothing_is_taken_away_unless_told():
    flow = FlowSpec.from_mapping(FLOW)
    assert (flow.grow_partitions, flow.sync_configs) == (True, True)
    assert (flow.delete_target_overrides, flow.sync_acls) == (False, False)
    assert flow.on_existing is OnExisting.REFUSE


@pytest.mark.parametrize("case", conformance_cases("mirror_maker_properties", "defaults"))
def test_filters_have_the_defaults_of_mirror_maker_in_kafka_3_9(case):
    expected = case["expected"] | case.get("in_3_9", {})
    flow = FlowSpec.from_mapping(FLOW)
    ours = {
        "topics": flow.topics,
        "topics.exclude": flow.topics_exclude,
        "groups": flow.groups,
        "groups.exclude": flow.groups_exclude,
        "config.properties.exclude": flow.config_properties_exclude,
    }
    for key in ours.keys() & expected.keys():
        assert ", ".join(ours[key]) == expected[key]


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"topics": ["a", "b.*"], "policy": "identity", "tasks": 4}, id="names"),
        pytest.param(
            {
                "grow_partitions": False,
                "sync_configs": False,
                "delete_target_overrides": True,
                "config_properties_exclude": ["retention\\..*"],
                "sync_acls": True,
                "on_existing": "append",
            },
            id="what follows the source",
        ),
        pytest.param({"engine": "own"}, id="an application of its own"),
    ],
)
def test_mapping_and_back_gives_the_same_flow(settings):
    flow = FlowSpec.from_mapping(FLOW | settings)
    assert FlowSpec.from_mapping(flow.to_mapping()) == flow
    assert all(flow.to_mapping()[name] == value for name, value in settings.items())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"name": ""}, "name", id="no name"),
        pytest.param({"source": None}, "source", id="no source"),
        pytest.param({"source": "east"}, "source", id="a name where a connection is needed"),
        pytest.param({"source": EAST | {"alias": "."}}, "source.alias", id="bad alias inside"),
        pytest.param({"target": EAST}, "target", id="source and target alike"),
        pytest.param({"topics": "orders"}, "topics", id="a text for a list"),
        pytest.param({"topics": ["("]}, "topics", id="not a regular expression"),
        pytest.param({"topics": [7]}, "topics", id="a number for a pattern"),
        pytest.param({"groups": [""]}, "groups", id="an empty pattern"),
        pytest.param({"policy": "prefix"}, "policy", id="unknown policy"),
        pytest.param({"separator": "/"}, "separator", id="a separator no topic may have"),
        pytest.param({"tasks": 0}, "tasks", id="no task"),
        pytest.param({"tasks": True}, "tasks", id="a flag for a number"),
        pytest.param({"replication_factor": -1}, "replication_factor", id="negative factor"),
        pytest.param({"on_recreated": "ask"}, "on_recreated", id="unknown reaction"),
        pytest.param({"path": "tunnel"}, "path", id="unknown path"),
        pytest.param({"delivery": "maybe"}, "delivery", id="unknown guarantee"),
        pytest.param({"isolation_level": "snapshot"}, "isolation_level", id="unknown isolation"),
        pytest.param({"offset_syncs": "both"}, "offset_syncs", id="unknown place of syncs"),
        pytest.param({"heartbeats": True}, "heartbeats", id="heartbeats as a flag"),
        pytest.param({"commit_interval_ms": 10}, "commit_interval_ms", id="commit too often"),
        pytest.param({"engine": "mine"}, "engine", id="unknown engine"),
        pytest.param({"client_rack": "two words"}, "client_rack", id="a rack with a space"),
        pytest.param({"max_bytes_per_s": 0}, "max_bytes_per_s", id="a limit of nothing"),
        pytest.param({"sync_configs": "yes"}, "sync_configs", id="a word for a flag"),
        pytest.param({"sync_acls": 1}, "sync_acls", id="a number for a flag"),
        pytest.param({"grow_partitions": []}, "grow_partitions", id="a list for a flag"),
        pytest.param({"on_existing": "mix"}, "on_existing", id="unknown answer to what exists"),
        pytest.param(
            {"config_properties_exclude": ["("]}, "config_properties_exclude", id="bad exclusion"
        ),
        pytest.param({"producer.acks": "0"}, "producer.acks", id="free client configuration"),
    ],
)
def test_bad_input_is_named_at_its_field(change, field):
    assert field in errors_of(**change)


def test_groups_cannot_be_kept_in_step_by_checkpoints_that_are_never_written():
    errors = errors_of(sync_group_offsets=True, emit_checkpoints_interval_s=0)
    assert list(errors) == ["sync_group_offsets"]
