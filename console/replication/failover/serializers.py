"""The shapes of failover plans and runs in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.frame.rest.parameters import PageParameters, Parameters
from console.frame.rest.serializers import BodySerializer, RenamedChoiceField
from console.replication.failover.models import (
    DIRECTIONS,
    KINDS,
    SHOWN_STATES,
    UNTRANSLATED,
    VERDICTS,
    FailoverPlan,
    FailoverPlanGroup,
    FailoverRun,
    FailoverState,
    GroupState,
)
from jobs.replication.failover.model import STATES_BEFORE

MOST_NAMES = 5000
LONGEST_GROUP = 255


def _names(help_text: str, **more: Any) -> serializers.ListField:
    child = serializers.CharField(max_length=LONGEST_GROUP)
    return serializers.ListField(child=child, max_length=MOST_NAMES, help_text=help_text, **more)


class NewPlanSerializer(BodySerializer):
    """The input of a plan."""

    name = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=100,
        help_text="Needed again to confirm. Empty: direction and time.",
    )
    direction = serializers.ChoiceField(
        choices=DIRECTIONS,
        required=False,
        help_text="failover: to the flow's target. failback: from there to its source.",
    )
    groups = _names("Names, or regular expressions that match a whole name.", allow_empty=False)
    topics = _names("Likewise: names on the cluster that the groups leave.", required=False)
    untranslated = serializers.ChoiceField(
        choices=UNTRANSLATED,
        required=False,
        help_text="Untranslatable partitions: refuse blocks the group, earliest sets the log start offset, "
        "leave sets no offset.",
    )


class CheckSerializer(serializers.Serializer[Any]):
    """A pre-check: state, finding, evidence, and what to do."""

    key = serializers.CharField()
    state = RenamedChoiceField(VERDICTS, before=STATES_BEFORE)
    what = serializers.CharField()
    evidence = serializers.CharField()
    next = serializers.CharField()


class PlanTopicSerializer(serializers.Serializer[Any]):
    """A topic of the origin and its counterpart on the destination."""

    topic = serializers.CharField()
    to_topic = serializers.CharField()
    topic_id = serializers.CharField()
    to_topic_id = serializers.CharField()
    checks = CheckSerializer(many=True)


class FailoverPlanSerializer(serializers.ModelSerializer[FailoverPlan]):
    """A plan: its request, when both clusters were queried, and the result."""

    flow = serializers.IntegerField(source="flow_id")
    origin = serializers.CharField(source="origin.alias")
    destination = serializers.CharField(source="destination.alias")
    groups = serializers.ListField(child=serializers.CharField(), read_only=True)
    topics = serializers.ListField(child=serializers.CharField(), read_only=True)
    state = serializers.ChoiceField(
        choices=SHOWN_STATES,
        source="shown_state",
        help_text="expired: the evidence is too old to apply the plan. Refresh the plan.",
    )
    expires_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When the plan expires; null before both clusters were queried.",
    )
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)

    class Meta:
        model = FailoverPlan
        fields = [
            "id", "flow", "name", "direction", "origin", "destination", "groups", "topics",
            "untranslated", "state", "error", "read_at", "expires_at", "verdict", "group_count",
            "blocked_count", "item_count", "exact_count", "reread_most", "at_risk", "applied_at",
            "created_at", "created_by",
        ]  # fmt: skip


class FailoverPlanDetailSerializer(FailoverPlanSerializer):
    """Likewise, with the pre-checks of the plan and of its topics; groups have their own route."""

    checks = CheckSerializer(many=True, source="document.checks", default=[])
    topic_checks = PlanTopicSerializer(many=True, source="document.topics", default=[])

    class Meta(FailoverPlanSerializer.Meta):
        fields = [*FailoverPlanSerializer.Meta.fields, "checks", "topic_checks"]


class PlanItemSerializer(serializers.Serializer[Any]):
    """A partition: lo and hi bound the first record that was not read, target is what is set."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    committed = serializers.IntegerField()
    to_topic = serializers.CharField(allow_null=True)
    how = serializers.CharField()
    lo = serializers.IntegerField(allow_null=True)
    hi = serializers.IntegerField(allow_null=True)
    exact = serializers.BooleanField(help_text="Whether lo, hi and target are the same offset.")
    reason = serializers.CharField()
    evidence = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="Offset syncs: pairs of a source offset and a target offset.",
    )
    mm2 = serializers.IntegerField(allow_null=True, help_text="MirrorMaker 2's translation.")
    target = serializers.IntegerField(allow_null=True)
    before = serializers.IntegerField(allow_null=True)
    log_start = serializers.IntegerField(allow_null=True)
    log_end = serializers.IntegerField(allow_null=True)
    reread_most = serializers.IntegerField(allow_null=True)
    at_risk = serializers.IntegerField(allow_null=True)
    not_copied = serializers.IntegerField(allow_null=True)
    only_here = serializers.ListField(child=serializers.IntegerField(), allow_null=True)
    metadata = serializers.CharField()
    problem = serializers.CharField()
    internal = serializers.BooleanField(
        default=False,
        help_text="An internal topic of Kafka Streams: no offset is set, none is missing.",
    )


class PlanGroupSerializer(serializers.ModelSerializer[FailoverPlanGroup]):
    """A group of a plan with its pre-checks and partitions."""

    state = serializers.ChoiceField(choices=GroupState.choices)
    checks = CheckSerializer(many=True, source="document.checks")
    items = PlanItemSerializer(many=True, source="document.items")

    class Meta:
        model = FailoverPlanGroup
        fields = [
            "group", "type", "verdict", "state", "message", "item_count", "exact_count",
            "reread_most", "at_risk", "checks", "items",
        ]  # fmt: skip


class FailoverRunSerializer(serializers.ModelSerializer[FailoverRun]):
    """A dry run (rehearsal), apply or roll back (undo) of a plan."""

    plan = serializers.IntegerField(source="plan_id")
    kind = serializers.ChoiceField(choices=KINDS)
    state = serializers.ChoiceField(choices=FailoverState.choices)
    groups = serializers.ListField(child=serializers.CharField(), read_only=True)
    left_out = serializers.DictField(
        child=serializers.CharField(),
        read_only=True,
        help_text="Groups of the plan that pre-checks block, with the reason.",
    )
    requested_by = serializers.CharField(
        source="requested_by.username", default=None, allow_null=True
    )
    has_report = serializers.SerializerMethodField()

    class Meta:
        model = FailoverRun
        fields = [
            "id", "plan", "kind", "state", "groups", "left_out", "even_if_moved", "requested_by",
            "created_at", "started_at", "confirmed_at", "finished_at", "done_count", "bad_count", "error",
            "has_report",
        ]  # fmt: skip

    def get_has_report(self, run: FailoverRun) -> bool:
        return run.finished_at is not None


class ApplySerializer(BodySerializer):
    """The confirmation, and which groups."""

    confirm = serializers.CharField(max_length=100, help_text="The plan's name.")
    groups = _names(
        "Only these; without it all groups that are not blocked.", required=False, allow_empty=False
    )


class UndoSerializer(BodySerializer):
    """The confirmation, and whether groups that committed since are rolled back, too."""

    confirm = serializers.CharField(max_length=100, help_text="The plan's name.")
    even_if_moved = serializers.BooleanField(
        default=False,
        help_text="Also groups that have committed since; they reprocess these records.",
    )


class CommandsSerializer(serializers.Serializer[Any]):
    """A file for kafka-consumer-groups.sh --from-file, and the command lines."""

    file_name = serializers.CharField()
    csv = serializers.CharField()
    lines = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())


class PlanCommandsSerializer(serializers.Serializer[Any]):
    """kafka-consumer-groups.sh commands to apply a plan and to roll it back."""

    apply = CommandsSerializer()
    undo = CommandsSerializer()


class SignatureSerializer(serializers.Serializer[Any]):
    """Ed25519 over the report's canonical JSON: UTF-8, keys sorted, no blanks."""

    algorithm = serializers.CharField()
    key_id = serializers.CharField()
    public_key = serializers.CharField()
    value = serializers.CharField()


class SignedReportSerializer(serializers.Serializer[Any]):
    """A report and its signature."""

    report = serializers.DictField()
    signature = SignatureSerializer()


class ReportKeySerializer(serializers.Serializer[Any]):
    """The public key that verifies reports of this installation."""

    algorithm = serializers.CharField()
    key_id = serializers.CharField()
    public_key_pem = serializers.CharField()


class GroupsQuery(PageParameters):
    """Which groups of a plan."""

    group = serializers.CharField(
        required=False, max_length=LONGEST_GROUP, help_text="Only this group."
    )


class ReportQuery(Parameters):
    """Which report."""

    run = serializers.UUIDField(
        required=False, help_text="The run; without it the newest that has ended."
    )
