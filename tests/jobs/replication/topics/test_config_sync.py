"""Which settings a remote topic takes over: MirrorMaker 2's rules, and what is kept in spite of them."""

import pytest

from jobs.cluster.admin.configs import ConfigAlteration, ConfigSource, ConfigValue
from jobs.replication.topics.config_sync import (
    OWN_CONFIGS,
    Reason,
    Verdict,
    compare_configs,
    configs_for_creation,
    overrides_of,
)
from tests.jobs.replication.topics.making import default, dynamic_broker, flow, override, static

WEEK, DAY = "604800000", "86400000"
SECRET = ConfigValue(None, ConfigSource.DYNAMIC_TOPIC_CONFIG, is_sensitive=True)
FIXED = ConfigValue("1", ConfigSource.DYNAMIC_TOPIC_CONFIG, is_read_only=True)


def compare(source, target, key="retention.ms", copied=None, **settings):
    """Compare one setting; None when there is nothing to tell."""
    both = [{key: side} if side else {} for side in (source, target)]
    found = compare_configs(flow(**settings), *both, copied)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("source", "target", "reason", "mm2_deletes"),
    [
        pytest.param(override(DAY), default(WEEK), Reason.CHANGED, False, id="set on the source"),
        pytest.param(override(DAY), override("5"), Reason.CHANGED, False, id="set on both"),
        pytest.param(
            dynamic_broker(DAY), default(WEEK), Reason.CHANGED, False, id="a dynamic default"
        ),
        pytest.param(override(WEEK), default(WEEK), None, False, id="the same value"),
        pytest.param(default(WEEK), default(WEEK), None, False, id="the same default"),
        pytest.param(
            default(WEEK), override(DAY), Reason.TARGET_ONLY, True, id="only on the target"
        ),
        pytest.param(
            default(WEEK), override(WEEK), Reason.SAME_AS_DEFAULT, True, id="to the same value"
        ),
        pytest.param(default(WEEK), static(DAY), Reason.TARGET_DEFAULT, False, id="other defaults"),
        pytest.param(static(DAY), default(WEEK), Reason.STATIC, False, id="in a broker's file"),
        pytest.param(
            static(DAY), override(WEEK), Reason.STATIC, False, id="in a file, and set on the target"
        ),
        pytest.param(FIXED, override("2"), Reason.READ_ONLY, False, id="read-only"),
        pytest.param(SECRET, override("2"), Reason.READ_ONLY, False, id="secret"),
        pytest.param(override("1"), None, Reason.NOT_ON_TARGET, False, id="unknown to the target"),
        pytest.param(None, override("1"), Reason.NOT_ON_SOURCE, False, id="unknown to the source"),
        pytest.param(default("1"), None, None, False, id="an unknown default tells nothing"),
        pytest.param(None, static("1"), Reason.NOT_ON_SOURCE, False, id="unknown, from a file"),
    ],
)
def test_each_setting_has_a_verdict_with_its_reason(source, target, reason, mm2_deletes):
    found = compare(source, target)
    if reason is None:
        assert found is None
        return
    assert (found.reason, found.mm2_deletes) == (reason, mm2_deletes)
    assert found.verdict is (Verdict.SET if reason is Reason.CHANGED else Verdict.KEEP)


def test_a_changed_value_is_set_to_the_source_s():
    assert compare(override(DAY), default(WEEK)).alteration() == ConfigAlteration(
        "retention.ms", DAY
    )


def test_what_is_kept_is_not_altered():
    assert compare(default(WEEK), override(DAY)).alteration() is None


def test_an_override_of_the_target_is_deleted_only_when_the_flow_says_so():
    found = compare(default(WEEK), override(DAY), delete_target_overrides=True)
    assert found.reason is Reason.TOLD_TO_DELETE
    assert found.alteration() == ConfigAlteration("retention.ms", None)


def test_an_override_that_makes_the_copy_like_the_source_is_never_deleted():
    found = compare(default(WEEK), override(WEEK), delete_target_overrides=True)
    assert found.verdict is Verdict.KEEP


def test_what_the_source_removed_is_removed_here():
    found = compare(default(WEEK), override(DAY), copied={"retention.ms": DAY})
    assert found.reason is Reason.TAKEN_BACK
    assert found.alteration() == ConfigAlteration("retention.ms", None)


def test_a_value_that_was_changed_on_the_target_is_not_removed():
    found = compare(default(WEEK), override("5"), copied={"retention.ms": DAY})
    assert found.reason is Reason.TARGET_ONLY


@pytest.mark.parametrize("told", [False, True], ids=["by default", "told to delete overrides"])
@pytest.mark.parametrize(
    ("key", "source"),
    [
        pytest.param("compression.type", override("gzip"), id="compression"),
        pytest.param("compression.type", default("producer"), id="default compression"),
        pytest.param("message.timestamp.type", override("LogAppendTime"), id="timestamps"),
    ],
)
def test_crosslog_s_own_settings_are_never_overwritten(key, source, told):
    settings = {"delete_target_overrides": told, "config_properties_exclude": ()}
    found = compare(source, override(OWN_CONFIGS[key]), key, **settings)
    assert (found.reason, found.verdict) == (Reason.OWN, Verdict.KEEP)


@pytest.mark.parametrize(
    "key",
    [
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.timestamp.difference.max.ms",
    ],
)
def test_mirror_makers_exclusions_hold_by_default(key):
    assert compare(override("2"), default("1"), key).reason is Reason.EXCLUDED


def test_exclusions_are_patterns_of_whole_names():
    assert compare(override("2"), default("1"), config_properties_exclude=(r"retention",))
    excluded = compare(override("2"), default("1"), config_properties_exclude=(r"retention\..*",))
    assert excluded.reason is Reason.EXCLUDED


def test_mirror_maker_does_not_delete_what_is_excluded():
    assert not compare(default("1"), override("2"), "min.insync.replicas").mm2_deletes


def test_an_altered_topic_has_nothing_left_to_alter():
    source = {"retention.ms": override(DAY), "segment.ms": override("7"), "x": default("1")}
    target = {"retention.ms": default(WEEK), "segment.ms": default(WEEK), "x": override("2")}
    for found in compare_configs(flow(), source, target):
        alteration = found.alteration()
        if alteration:
            target[alteration.key] = override(alteration.value)
    assert [d.alteration() for d in compare_configs(flow(), source, target)] == [None]


def test_a_new_remote_topic_gets_what_is_not_a_default():
    source = {
        "retention.ms": override(DAY),
        "segment.ms": dynamic_broker("7"),
        "cleanup.policy": default("delete"),
        "flush.ms": static("1"),
        "min.insync.replicas": override("2"),
        "compression.type": override("gzip"),
        "a.secret": SECRET,
        "fixed": FIXED,
    }
    assert configs_for_creation(flow(), source) == {"retention.ms": DAY, "segment.ms": "7"}


def test_overrides_are_what_the_topic_itself_sets():
    source = {"a": override("1"), "b": default("2"), "c": static("3"), "d": SECRET}
    assert overrides_of(source) == {"a": "1"}
