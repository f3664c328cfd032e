"""The settings of a MirrorMaker 2 that runs beside a flow of crosslog."""

import re

from jobs.lab.mirror_maker import beside_properties
from jobs.lab.traffic.shop import TOPICS
from jobs.lab.traffic.writers import GROUPS, prefixed

SETTINGS = beside_properties(("east", "e:1"), ("west", "w:1"), "mirrored-")


def test_it_copies_topics_and_groups_of_its_own_only():
    for name in ("east->west.topics", "east->west.groups"):
        assert re.fullmatch(SETTINGS[name], "mirrored-orders")
        assert not [topic for topic in TOPICS if re.fullmatch(SETTINGS[name], topic)]


def test_it_copies_one_way_and_syncs_groups():
    assert SETTINGS["east->west.enabled"] == "true"
    assert SETTINGS["west->east.enabled"] == "false"
    assert SETTINGS["east->west.sync.group.offsets.enabled"] == "true"


def test_its_topics_have_replicas_where_there_are_brokers_for_them():
    assert SETTINGS["offset.storage.replication.factor"] == "1"
    assert SETTINGS["east.offset.storage.replication.factor"] == "3"


def test_a_group_of_another_shop_reads_its_topic():
    billing = prefixed(GROUPS[0], "mirrored-")
    assert (billing.group_id, billing.topic) == ("mirrored-billing", "mirrored-payments")
