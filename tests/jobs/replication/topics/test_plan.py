"""The dry run: what the next sync of the remote topics will do, and what it leaves alone."""

from dataclasses import replace

import pytest

from jobs.cluster.admin.acls import AclBinding
from jobs.cluster.errors import NotAuthorized
from jobs.replication.topics.plan import AclsState, TopicsState, plan_topics
from tests.jobs.replication.topics.making import default, flow, missing, override, topic

READ = AclBinding("TOPIC", "LITERAL", "orders", "User:shop", "*", "READ", "ALLOW")
SAME = TopicsState(
    (topic("orders"),), {"orders": "east.orders"}, {"east.orders": topic("east.orders")}
)


def state(source=None, target=None, **others):
    configs = {
        "source_configs": {"orders": source or {}},
        "target_configs": {"east.orders": target or {}},
    }
    return replace(SAME, **{**configs, **others})


def changes(plan):
    return [(c.topic, c.key, c.before, c.after) for c in plan.changes()]


def test_equal_topics_are_not_changed():
    plan = plan_topics(flow(), state())
    assert (plan.changes(), plan.notes, plan.failures) == ([], (), ())
    assert plan.lines() == ["No changes."]


def test_partitions_settings_and_acls_are_planned_together():
    wanted = state(
        {"retention.ms": override("7")},
        {"retention.ms": default("9")},
        topics=(topic("orders", 3),),
        acls=AclsState([READ], []),
    )
    assert changes(plan_topics(flow(sync_acls=True), wanted)) == [
        ("east.orders", "partitions", "1", "3"),
        ("east.orders", "retention.ms", "9", "7"),
        ("east.orders", "acl", None, "ALLOW READ to User:shop from *"),
    ]


def test_a_line_tells_what_changes_and_why():
    plan = plan_topics(flow(), state({"a.b": override("7")}, {"a.b": default("9")}))
    assert plan.lines() == ["east.orders a.b: 9 -> 7 (The source topic has this value.)"]


def test_a_plan_is_json():
    plan = plan_topics(flow(), state({"a.b": override("7")}, {"a.b": default("9")}))
    assert plan.to_mapping() == {
        "changes": [
            {
                "topic": "east.orders",
                "key": "a.b",
                "from": "9",
                "to": "7",
                "why": "The source topic has this value.",
            }
        ],
        "notes": [],
        "failures": [],
    }


def test_what_mirror_maker_would_delete_is_kept_and_named():
    plan = plan_topics(flow(), state({"a.b": default("7")}, {"a.b": override("9")}))
    assert plan.changes() == []
    (note,) = plan.notes
    assert (note.topic, note.key) == ("east.orders", "a.b")
    assert "9 (7 on the source)" in note.text
    assert "MirrorMaker 2 would delete it" in note.text


def test_overrides_that_make_a_copy_like_its_source_are_named_in_one_note():
    own = {"compression.type": override("producer"), "retention.ms": override("7")}
    source = {"compression.type": default("producer"), "retention.ms": default("7")}
    (note,) = plan_topics(flow(), state(source, own)).notes
    assert "would also delete compression.type=producer, retention.ms=7" in note.text


def test_a_deletion_goes_to_nothing():
    plan = plan_topics(
        flow(delete_target_overrides=True), state({"a.b": default("7")}, {"a.b": override("9")})
    )
    assert changes(plan) == [("east.orders", "a.b", "9", None)]


def test_what_a_source_removed_since_the_last_plan_is_removed():
    before = plan_topics(flow(), state({"a.b": override("7")}, {"a.b": override("7")}))
    plan = plan_topics(
        flow(), state({"a.b": default("9")}, {"a.b": override("7")}), before.overrides
    )
    assert changes(plan) == [("east.orders", "a.b", "7", None)]


def test_configs_are_not_changed_when_the_flow_says_so():
    spec = flow(sync_configs=False)
    assert plan_topics(spec, state({"a.b": override("7")}, {"a.b": default("9")})).changes() == []


def test_settings_that_could_not_be_read_are_a_failure_of_that_topic():
    fault = NotAuthorized("Reading topic settings: no.", cluster="west")
    plan = plan_topics(flow(), state(target_configs={"east.orders": fault}))
    (failure,) = plan.failures
    assert failure.topic == "east.orders"
    assert "Give the principal the missing ACL" in failure.text


def test_growth_of_a_compacted_topic_is_a_note():
    wanted = state(
        {"cleanup.policy": override("compact")},
        {"cleanup.policy": override("compact")},
        topics=(topic("orders", 2),),
    )
    (note,) = plan_topics(flow(), wanted).notes
    assert (note.topic, note.key) == ("east.orders", "partitions")


def test_a_remote_topic_that_is_not_there_yet_is_a_note():
    plan = plan_topics(flow(), state(remotes={"east.orders": missing("east.orders")}))
    assert plan.changes() == []
    assert "nothing to sync yet" in plan.notes[0].text


@pytest.mark.parametrize(
    ("acls", "words"),
    [
        pytest.param(AclsState(None, None), "source cluster has no authorizer", id="source"),
        pytest.param(AclsState([READ], None), "target cluster has no authorizer", id="target"),
    ],
)
def test_a_cluster_without_an_authorizer_is_a_note_and_no_failure(acls, words):
    plan = plan_topics(flow(sync_acls=True), state(acls=acls))
    assert (plan.acls, plan.failures) == ((), ())
    assert words in plan.notes[0].text


def test_acls_are_not_changed_unless_the_flow_syncs_them():
    assert plan_topics(flow(), state(acls=AclsState([READ], []))).acls == ()


def test_acls_that_could_not_be_read_are_not_planned():
    assert plan_topics(flow(sync_acls=True), state(acls=None)).acls == ()
