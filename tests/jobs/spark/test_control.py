"""What people may ask of a running flow in `control.json`."""

import json

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.spark import contract
from jobs.spark.control import BULK_LAG, Control, ControlFile, is_named


def test_everything_may_be_left_out():
    assert Control.from_mapping({}) == Control()


def test_everything_may_be_said():
    control = Control.from_mapping(
        {
            "paused": ["orders", "mail:3"],
            "priorities": {"orders": 2, "logs": -1},
            "max_bytes_per_s": 1_000_000,
            "restart": {"token": "a1", "topics": ["logs"]},
            "windows": ["Mon-Fri 22:00-06:00 Europe/Berlin"],
            "bulk_lag": 5,
        }
    )
    assert control.paused == {"orders", "mail:3"}
    assert (control.priorities, control.bulk_lag) == ({"orders": 2, "logs": -1}, 5)
    assert (control.has_limit, control.limit_bytes_per_s) == (True, 1_000_000)
    assert (control.restart_token, control.restart) == ("a1", {"logs"})
    assert [window.text for window in control.windows] == ["Mon-Fri 22:00-06:00 Europe/Berlin"]


@pytest.mark.parametrize(
    ("values", "has_limit"),
    [
        pytest.param({}, False, id="not said: the flow's own setting"),
        pytest.param({"max_bytes_per_s": None}, True, id="null: no limit"),
    ],
)
def test_no_limit_is_not_the_same_as_nothing_said(values, has_limit):
    assert Control.from_mapping(values).has_limit is has_limit


@pytest.mark.parametrize(
    ("values", "field"),
    [
        pytest.param({"pause": []}, "pause", id="a misspelt field"),
        pytest.param({"paused": "orders"}, "paused", id="no list"),
        pytest.param({"priorities": {"orders": "high"}}, "priorities", id="a word"),
        pytest.param({"priorities": {"orders": 99}}, "priorities", id="far too high"),
        pytest.param({"priorities": {"orders": True}}, "priorities", id="no number"),
        pytest.param({"max_bytes_per_s": 1}, "max_bytes_per_s", id="far too slow"),
        pytest.param({"restart": "orders"}, "restart", id="no token"),
        pytest.param({"windows": ["at night"]}, "windows", id="no window"),
        pytest.param({"bulk_lag": -1}, "bulk_lag", id="less than nothing"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(values, field):
    with pytest.raises(InvalidFields) as refused:
        Control.from_mapping(values)
    assert list(refused.value.errors) == [field]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("orders", True), ("orders:3", True), ("orders:4", False), ("order", False)],
)
def test_a_name_means_a_topic_or_one_of_its_partitions(name, expected):
    assert is_named(TopicPartition("orders", 3), frozenset([name])) is expected


def test_without_a_file_nothing_is_asked_for(tmp_path):
    file = ControlFile(tmp_path)
    assert not file.look()
    assert file.control == Control()


def test_a_new_file_is_read_once(tmp_path):
    file = ControlFile(tmp_path)
    contract.write_control(tmp_path, {"paused": ["orders"]})
    assert [file.look(), file.look()] == [True, False]
    assert file.control.paused == {"orders"}


def test_a_file_that_is_gone_asks_for_nothing(tmp_path):
    file = ControlFile(tmp_path)
    contract.write_control(tmp_path, {"bulk_lag": 7})
    file.look()
    (tmp_path / contract.CONTROL).unlink()
    assert file.look()
    assert file.control.bulk_lag == BULK_LAG


@pytest.mark.parametrize("text", ["{", "[]", '"x"', json.dumps({"paused": 1})])
def test_a_file_that_makes_no_sense_leaves_everything_as_it_was_and_says_why(tmp_path, text):
    file = ControlFile(tmp_path)
    contract.write_control(tmp_path, {"paused": ["orders"]})
    file.look()
    (tmp_path / contract.CONTROL).write_text(text)
    assert not file.look()
    assert file.control.paused == {"orders"}
    assert file.problem
