from dataclasses import fields, replace

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.control import LIVE_SETTINGS, Control, changed_live, needs_restart, with_settings

FLOW = FlowSpec("f", Connection("east", "a:1"), Connection("west", "b:1"))
NAMES = sorted(one.name for one in fields(FlowSpec))
# What tasks work with, or what names things on the clusters.
RESTARTS = {
    "client_rack",
    "commit_interval_ms",
    "copied_by",
    "custom_policy",
    "delivery",
    "engine",
    "isolation_level",
    "name",
    "offset_syncs",
    "path",
    "policy",
    "separator",
    "source",
    "target",
    "tasks",
}


def test_every_setting_is_either_taken_over_or_needs_a_restart():
    assert set(NAMES) == LIVE_SETTINGS | RESTARTS
    assert not LIVE_SETTINGS & RESTARTS


@pytest.mark.parametrize("name", NAMES)
def test_a_change_of_one_setting_is_live_or_needs_a_restart(name):
    before = FLOW.to_mapping()
    after = before | {name: "another"}
    assert needs_restart(before, after) == (name in RESTARTS)
    assert changed_live(before, after) == ({} if name in RESTARTS else {name: "another"})


def test_a_flow_takes_over_settings_and_keeps_all_others():
    changed = with_settings(FLOW, {"topics": ["orders"], "max_bytes_per_s": 2048})
    assert changed == replace(FLOW, topics=("orders",), max_bytes_per_s=2048)


@pytest.mark.parametrize("settings", [{"tasks": 2}, {"nonsense": 1}, ["topics"]])
def test_a_control_file_changes_no_other_setting(settings):
    with pytest.raises(InvalidFields) as refused:
        Control.from_mapping({"settings": settings})
    assert list(refused.value.errors) == ["settings"]
