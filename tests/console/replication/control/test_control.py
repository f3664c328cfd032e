import pytest

from console.replication.control.control import (
    add_names,
    hand_over,
    is_paused,
    merge,
    shown,
    take_names,
    to_file,
    wrong_names,
)
from console.replication.flows.models import ReplicationFlow
from console.runs.models import RunState
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.spark.contract import CONTROL, read_json, write_control
from jobs.spark.control import Control
from tests.console.making import NOW, make_flow, make_run

COUNTS = {"orders": 3, "clicks": 0}
WINDOW = "Mon-Fri 22:00-06:00 Europe/Berlin"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, {"paused": ["orders"]}, id="nothing given, nothing changed"),
        pytest.param({"paused": []}, {}, id="nothing paused"),
        pytest.param(
            {"priorities": {"orders": 2, "clicks": 0}},
            {"paused": ["orders"], "priorities": {"orders": 2}},
            id="a priority of zero says nothing",
        ),
        pytest.param(
            {"max_bytes_per_s": 5000}, {"paused": ["orders"], "max_bytes_per_s": 5000}, id="limit"
        ),
        pytest.param(
            {"max_bytes_per_s": None},
            {"paused": ["orders"], "max_bytes_per_s": None},
            id="no limit at all",
        ),
        pytest.param({"own_limit": False}, {"paused": ["orders"]}, id="the setting's limit"),
        pytest.param(
            {"own_limit": True},
            {"paused": ["orders"], "max_bytes_per_s": None},
            id="a limit of its own that was not named",
        ),
        pytest.param(
            {"windows": [f" {WINDOW} "]}, {"paused": ["orders"], "windows": [WINDOW]}, id="window"
        ),
        pytest.param({"bulk_lag": 0}, {"paused": ["orders"], "bulk_lag": 0}, id="bulk lag"),
        pytest.param({"bulk_lag": None}, {"paused": ["orders"]}, id="the usual bulk lag"),
    ],
)
def test_what_is_given_is_changed_and_the_rest_stays(values, expected):
    assert merge({"paused": ["orders"]}, values) == expected


def test_a_limit_is_given_back_to_the_setting():
    assert merge({"max_bytes_per_s": 5000}, {"own_limit": False}) == {}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"paused": "orders"}, "paused"),
        ({"priorities": {"orders": 11}}, "priorities"),
        ({"max_bytes_per_s": 1}, "max_bytes_per_s"),
        ({"windows": ["at night"]}, "windows"),
        ({"bulk_lag": -1}, "bulk_lag"),
        ({"speed": 3}, "speed"),
    ],
)
def test_a_bad_value_is_said_at_its_field(values, field):
    with pytest.raises(InvalidFields) as refused:
        merge({}, values)
    assert set(refused.value.errors) == {field}


def test_what_is_written_is_read_as_the_same_by_the_engine():
    control = Control.from_mapping(
        {"paused": ["orders"], "windows": [WINDOW], "restart": {"token": "t", "topics": ["a:1"]}}
    )
    assert Control.from_mapping(to_file(control)) == control


def test_all_values_are_shown_with_their_defaults():
    assert shown(ReplicationFlow(control={"paused": ["orders"]})) == {
        "paused": ["orders"],
        "priorities": {},
        "own_limit": False,
        "max_bytes_per_s": None,
        "windows": [],
        "bulk_lag": 100_000,
    }


@pytest.mark.parametrize(
    ("paused", "names", "expected"),
    [
        pytest.param([], ["orders:1"], ["orders:1"], id="a partition"),
        pytest.param(["orders:1"], ["orders"], ["orders"], id="a topic swallows its partitions"),
        pytest.param(["orders"], ["orders:1"], ["orders"], id="a partition of a paused topic"),
    ],
)
def test_pausing_names_nothing_twice(paused, names, expected):
    assert add_names(paused, names) == expected


@pytest.mark.parametrize(
    ("paused", "names", "expected"),
    [
        pytest.param(["orders", "clicks"], ["orders"], ["clicks"], id="a topic"),
        pytest.param(["orders:1", "orders:2"], ["orders"], [], id="a topic with its partitions"),
        pytest.param(["orders:1", "orders:2"], ["orders:1"], ["orders:2"], id="a partition"),
        pytest.param(
            ["orders"], ["orders:1"], ["orders:0", "orders:2"], id="a partition of a paused topic"
        ),
        pytest.param([], ["orders:1"], [], id="what is not paused"),
    ],
)
def test_resuming_leaves_the_others_paused(paused, names, expected):
    assert take_names(paused, names, COUNTS) == expected


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        ("orders", True),
        ("orders:2", True),
        ("orders:3", False),
        ("orders:02", False),
        ("orders:", False),
        ("orders:x", False),
        ("clicks:7", True),
        ("payments", False),
        ("payments:0", False),
    ],
)
def test_names_are_those_of_the_flow(name, is_there):
    assert (wrong_names([name], COUNTS) == "") is is_there


def test_a_name_that_is_not_in_the_flow_is_told():
    assert "payments, orders:9" in wrong_names(["payments", "orders", "orders:9"], COUNTS)


@pytest.mark.parametrize(("partition", "expected"), [(0, False), (1, True)])
def test_a_partition_is_paused_by_its_name(partition, expected):
    control = Control(paused=frozenset({"orders:1"}))
    assert is_paused(TopicPartition("orders", partition), control) is expected


@pytest.fixture
def flow(db):
    return make_flow(control={"paused": ["orders"]})


def test_a_run_of_this_host_is_told_once(flow, tmp_path):
    run = make_run(flow, folder=str(tmp_path))
    assert [hand_over(flow, run), hand_over(flow, run)] == [True, False]
    assert read_json(tmp_path / CONTROL) == {"paused": ["orders"]}


def test_what_was_asked_for_in_between_is_handed_over_too(flow, tmp_path):
    run = make_run(flow, folder=str(tmp_path))
    ReplicationFlow.objects.update(control={"paused": ["clicks"]})
    hand_over(flow, run)
    assert read_json(tmp_path / CONTROL) == {"paused": ["clicks"]}


def test_nothing_asked_for_takes_back_what_was(flow, tmp_path):
    run = make_run(flow, folder=str(tmp_path))
    write_control(tmp_path, {"paused": ["orders"]})
    ReplicationFlow.objects.update(control={})
    flow.refresh_from_db()
    hand_over(flow, run)
    assert read_json(tmp_path / CONTROL) == {}


def test_a_file_that_cannot_be_read_is_replaced(flow, tmp_path):
    run = make_run(flow, folder=str(tmp_path))
    (tmp_path / CONTROL).write_text("{")
    hand_over(flow, run)
    assert read_json(tmp_path / CONTROL) == {"paused": ["orders"]}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"host": "elsewhere"}, id="on another host"),
        pytest.param({"state": RunState.CRASHED}, id="ended"),
        pytest.param({"folder": ""}, id="without a folder"),
        pytest.param({"folder": "/nowhere/at/all"}, id="whose folder is gone"),
    ],
)
def test_another_run_is_told_nothing(flow, tmp_path, fields):
    assert not hand_over(flow, make_run(flow, **{"folder": str(tmp_path)} | fields))
    assert not (tmp_path / CONTROL).exists()


def test_a_run_is_told_the_live_settings_that_changed_since_it_began(flow, tmp_path):
    run = make_run(flow, folder=str(tmp_path))
    flow.max_bytes_per_s, flow.tasks = 2048, 3
    flow.save()
    assert hand_over(flow, run)
    assert read_json(tmp_path / CONTROL) == {
        "paused": ["orders"],
        "settings": {"max_bytes_per_s": 2048},
    }


def test_a_run_of_an_earlier_version_is_told_no_settings(flow, tmp_path):
    run = make_run(flow, folder=str(tmp_path), reported_at=NOW)
    flow.max_bytes_per_s = 2048
    flow.save()
    hand_over(flow, run)
    assert read_json(tmp_path / CONTROL) == {"paused": ["orders"]}
