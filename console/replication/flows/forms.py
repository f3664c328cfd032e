"""The form of a flow: text from a browser to the values that actions check."""

from __future__ import annotations

from typing import Any

from django import forms

from console.frame.pages.forms import lines_field, split_lines
from console.replication.flows.models import SETTINGS, ReplicationFlow
from console.replication.flows.policy_fields import (
    FIELDS,
    PolicyFieldsForm,
    take_templates,
    templates_as_fields,
)
from jobs.replication.flow.spec import (
    DEFAULT_CHECKPOINTS_S,
    DEFAULT_COMMIT_MS,
    DEFAULT_CONFIG_PROPERTIES_EXCLUDE,
    DEFAULT_GROUPS_EXCLUDE,
    DEFAULT_TOPICS_EXCLUDE,
    HIGHEST_BYTES_PER_S,
    LONGEST_CHECKPOINTS_S,
    LONGEST_COMMIT_MS,
    LOWEST_BYTES_PER_S,
    MAX_TASKS,
    SHORTEST_COMMIT_MS,
    CopiedBy,
    CopyPath,
    Guarantee,
    HeartbeatsTo,
    IsolationLevel,
    OnExisting,
    OnRecreated,
    PolicyName,
    SyncsLocation,
)
from jobs.spark.control import LIVE_SETTINGS

RESTARTS = "A change restarts the flow."
MORE_FIELDS = (
    "separator",
    "replication_factor",
    "tasks",
    "on_recreated",
    "delivery",
    "isolation_level",
    "path",
    "commit_interval_ms",
    "max_bytes_per_s",
    "offset_syncs",
    "heartbeats",
    "client_rack",
    "on_existing",
    "grow_partitions",
    "sync_configs",
    "delete_target_overrides",
    "config_properties_exclude",
    "sync_acls",
    "groups",
    "groups_exclude",
    "emit_checkpoints_interval_s",
    "sync_group_offsets",
    "sync_group_offsets_interval_s",
    *FIELDS,
)
PATTERN_FIELDS = (
    "topics",
    "topics_exclude",
    "groups",
    "groups_exclude",
    "config_properties_exclude",
)


def _patterns(label: str, help_text: str, initial: tuple[str, ...], rows: int) -> forms.CharField:
    return lines_field(label, help_text, initial="\n".join(initial), rows=rows)


class FlowForm(PolicyFieldsForm):
    """Settings of a flow; what is wrong with them is said by `actions`, at the field."""

    name = forms.CharField(max_length=100, help_text="What people call it: orders to west.")
    source = forms.ChoiceField(help_text="Where records are read.")
    target = forms.ChoiceField(help_text="Where they are written, with the flow's positions.")
    copied_by = forms.ChoiceField(
        label="Who copies",
        choices=[
            (CopiedBy.CROSSLOG.value, "crosslog"),
            (CopiedBy.MIRROR_MAKER.value, "MirrorMaker 2: crosslog only watches"),
        ],
        required=False,
        initial=CopiedBy.CROSSLOG.value,
        help_text="A watched flow has lag, checkpoints and failover plans, but crosslog never runs it. "
        "Say below where MirrorMaker 2 keeps its offset syncs: by default on the source.",
    )
    topics = _patterns(
        "Topics", "Regular expressions, one per line; each must match a whole name.", (".*",), 3
    )
    topics_exclude = _patterns(
        "Topics not to copy", "These win over the patterns above.", DEFAULT_TOPICS_EXCLUDE, 3
    )
    policy = forms.ChoiceField(
        label="Names on the target",
        choices=[
            (PolicyName.DEFAULT.value, "Source alias in front: east.orders (default policy)"),
            (PolicyName.IDENTITY.value, "Same name: orders (identity policy)"),
            (PolicyName.CUSTOM.value, "By templates of one's own (custom policy, KIP-690)"),
        ],
        help_text="Same names cannot tell a copy from an original: never copy them back.",
    )
    separator = forms.CharField(
        max_length=10, initial=".", help_text="Between alias and topic, as in MirrorMaker 2."
    )
    replication_factor = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=32767,
        help_text="Of topics that are created. Empty: as on the source, at most one per broker.",
    )
    tasks = forms.IntegerField(
        min_value=1,
        max_value=MAX_TASKS,
        initial=1,
        help_text="How many Spark tasks share the partitions.",
    )
    on_recreated = forms.ChoiceField(
        label="When a source topic is deleted and created again",
        choices=[
            (OnRecreated.STOP.value, "Stop that topic and ask"),
            (OnRecreated.FROM_START.value, "Copy the new topic from its beginning"),
        ],
    )
    delivery = forms.ChoiceField(
        label="Guarantee",
        choices=[
            (
                Guarantee.EXACTLY_ONCE.value,
                "Exactly once: records and positions in one transaction",
            ),
            (Guarantee.AT_LEAST_ONCE.value, "At least once: a crash may repeat records"),
        ],
        help_text="Readers of the copy need isolation.level=read_committed for exactly once.",
    )
    isolation_level = forms.ChoiceField(
        label="Transactions of the source",
        choices=[
            (IsolationLevel.READ_COMMITTED.value, "Copy committed records only"),
            (IsolationLevel.READ_UNCOMMITTED.value, "Copy open and aborted ones too"),
        ],
    )
    path = forms.ChoiceField(
        label="How records travel",
        choices=[
            (CopyPath.AUTO.value, "Whole batches wherever the partition allows it"),
            (CopyPath.RECORD.value, "One by one (slow, at least once)"),
        ],
    )
    commit_interval_ms = forms.IntegerField(
        label="Commit interval (ms)",
        min_value=SHORTEST_COMMIT_MS,
        max_value=LONGEST_COMMIT_MS,
        initial=DEFAULT_COMMIT_MS,
        help_text="The longest time between two commits, kept while there is a backlog. A flow that keeps up "
        "commits after some milliseconds, so readers of committed records wait little.",
    )
    max_bytes_per_s = forms.IntegerField(
        label="Limit (bytes per second)",
        required=False,
        min_value=LOWEST_BYTES_PER_S,
        max_value=HIGHEST_BYTES_PER_S,
        help_text="Of the whole flow, as the batches are on the source. Empty: no limit.",
    )
    offset_syncs = forms.ChoiceField(
        label="Offset syncs are kept",
        choices=[
            (SyncsLocation.TARGET.value, "On the target, in the same transaction as the records"),
            (SyncsLocation.SOURCE.value, "On the source, as MirrorMaker 2 does by default"),
            (SyncsLocation.NONE.value, "Nowhere: groups cannot be translated"),
        ],
    )
    heartbeats = forms.ChoiceField(
        label="Heartbeats are sent",
        choices=[
            (HeartbeatsTo.TARGET.value, "To the target"),
            (HeartbeatsTo.BOTH.value, "To both clusters"),
            (HeartbeatsTo.NONE.value, "Nowhere"),
        ],
    )
    client_rack = forms.CharField(
        label="Rack of the tasks",
        max_length=100,
        required=False,
        help_text="As in the source's broker.rack: reads come from a replica there, where there is one.",
    )
    on_existing = forms.ChoiceField(
        label="When a topic of the same name is on the target already",
        choices=[
            (OnExisting.REFUSE.value, "Refuse: somebody else writes it"),
            (OnExisting.APPEND.value, "Append to it"),
        ],
        help_text="Only with the same names on both sides (identity policy).",
    )
    grow_partitions = forms.BooleanField(
        label="Add partitions to remote topics when the source has more",
        required=False,
        initial=True,
    )
    sync_configs = forms.BooleanField(
        label="Keep the settings of remote topics as on the source", required=False, initial=True
    )
    delete_target_overrides = forms.BooleanField(
        label="Delete settings that only the remote topic has",
        required=False,
        help_text="MirrorMaker 2 does this every ten minutes.",
    )
    config_properties_exclude = _patterns(
        "Settings not to copy",
        "Regular expressions, one per line.",
        DEFAULT_CONFIG_PROPERTIES_EXCLUDE,
        3,
    )
    sync_acls = forms.BooleanField(
        label="Copy ACLs of topics (to read only)",
        required=False,
        help_text="Needs the right to alter the target cluster. Nothing is ever deleted.",
    )
    groups = _patterns("Groups", "Whose offsets belong to this flow.", (".*",), 2)
    groups_exclude = _patterns(
        "Groups to leave out", "These win over the patterns above.", DEFAULT_GROUPS_EXCLUDE, 3
    )

    emit_checkpoints_interval_s = forms.IntegerField(
        label="Checkpoints every (s)",
        min_value=0,
        max_value=LONGEST_CHECKPOINTS_S,
        initial=DEFAULT_CHECKPOINTS_S,
        help_text="How often the offsets of these groups are translated and written to the target. 0: never.",
    )
    sync_group_offsets = forms.BooleanField(
        label="Keep groups of the target where they are on the source",
        required=False,
        help_text="Groups of the same name that nobody uses there. They also go back when the source's do.",
    )
    sync_group_offsets_interval_s = forms.IntegerField(
        label="Groups are set every (s)",
        min_value=1,
        max_value=LONGEST_CHECKPOINTS_S,
        initial=DEFAULT_CHECKPOINTS_S,
        help_text="At most this often, with a round of checkpoints.",
    )

    confirm = forms.CharField(
        label="Make it nevertheless",
        required=False,
        max_length=100,
        help_text="Type the flow's name to confirm what is said here.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, aliases: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for side in ("source", "target"):
            choices = [("", "Choose a cluster"), *((alias, alias) for alias in aliases)]
            self.fields[side].choices = choices  # type: ignore[attr-defined]  # both are ChoiceFields

    @property
    def first_fields(self) -> list[forms.BoundField]:
        """The fields that every flow needs."""
        is_asked = "confirm" in self.errors or bool(self.data.get("confirm"))
        hidden = (*MORE_FIELDS, *(() if is_asked else ("confirm",)))
        return [field for field in self if field.name not in hidden]

    @property
    def more_fields(self) -> list[forms.BoundField]:
        """The fields whose defaults fit most flows."""
        return [field for field in self if field.name in MORE_FIELDS]

    @property
    def is_more_wrong(self) -> bool:
        """Whether a field that is folded away has an error."""
        return any(name in self.errors for name in MORE_FIELDS)

    @property
    def confirmed(self) -> str:
        """The flow's name, typed again for what is hardly wanted."""
        return str(self.cleaned_data["confirm"])

    def values(self) -> dict[str, Any]:
        """Return the values as `actions` takes them; call after `is_valid`."""
        values = {**self.cleaned_data}
        for name in PATTERN_FIELDS:
            values[name] = split_lines(str(values.get(name, "")))
        values.pop("start", None)
        values.pop("confirm", None)
        if not values.get("copied_by"):
            values.pop("copied_by", None)
        return take_templates(values)


class NewFlowForm(FlowForm):
    """Settings of a new flow, and whether it runs at once."""

    start = forms.BooleanField(label="Start copying at once", required=False, initial=True)

    @property
    def is_started(self) -> bool:
        """Whether the flow is to run; the box is ticked at first, whoever copies."""
        is_watched = self.cleaned_data["copied_by"] == CopiedBy.MIRROR_MAKER
        return bool(self.cleaned_data["start"]) and not is_watched


class SettingsForm(FlowForm):
    """Settings of a flow that exists: its clusters stay."""

    def __init__(self, flow: ReplicationFlow, *args: Any, **kwargs: Any) -> None:
        super().__init__([], *args, initial=_initial(flow), **kwargs)
        del self.fields["source"], self.fields["target"]
        for name in self.fields.keys() - LIVE_SETTINGS - {"copied_by"}:
            field = self.fields[name]
            field.help_text = f"{field.help_text} {RESTARTS}".strip()


def _initial(flow: ReplicationFlow) -> dict[str, Any]:
    values = {name: getattr(flow, name) for name in SETTINGS}
    values |= templates_as_fields(flow.custom_policy)
    return values | {name: "\n".join(getattr(flow, name)) for name in PATTERN_FIELDS}
