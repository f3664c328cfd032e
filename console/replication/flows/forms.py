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
    FlowEngine,
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
HOW_FIELDS = (
    "delivery",
    "tasks",
    "max_bytes_per_s",
    "replication_factor",
    "groups",
    "groups_exclude",
    "emit_checkpoints_interval_s",
    "sync_group_offsets",
)
ADVANCED_FIELDS = (
    "separator",
    "on_recreated",
    "isolation_level",
    "path",
    "commit_interval_ms",
    "offset_syncs",
    "heartbeats",
    "engine",
    "client_rack",
    "on_existing",
    "grow_partitions",
    "sync_configs",
    "delete_target_overrides",
    "config_properties_exclude",
    "sync_acls",
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
    """Settings of a flow; `actions` checks them and puts errors to the fields."""

    name = forms.CharField(max_length=100, help_text="For example: orders to west.")
    source = forms.ChoiceField(help_text="The cluster that records are read from.")
    target = forms.ChoiceField(
        help_text="The cluster that records and the positions of the flow are written to."
    )
    copied_by = forms.ChoiceField(
        label="Replicator",
        choices=[
            (CopiedBy.CROSSLOG.value, "crosslog"),
            (CopiedBy.MIRROR_MAKER.value, "MirrorMaker 2 (crosslog only monitors)"),
        ],
        required=False,
        initial=CopiedBy.CROSSLOG.value,
        help_text="A monitored flow has lag, checkpoints and failover plans; crosslog does not run it. Set "
        "'Offset syncs' to the cluster where MirrorMaker 2 keeps them: by default the source.",
    )
    topics = _patterns(
        "Topics", "Regular expressions, one per line. Each must match the whole name.", (".*",), 3
    )
    topics_exclude = _patterns(
        "Excluded topics", "They override the patterns above.", DEFAULT_TOPICS_EXCLUDE, 3
    )
    policy = forms.ChoiceField(
        label="Topic naming (replication policy)",
        choices=[
            (PolicyName.DEFAULT.value, "Source alias as prefix: east.orders (default policy)"),
            (PolicyName.IDENTITY.value, "Same name: orders (identity policy)"),
            (PolicyName.CUSTOM.value, "Custom templates (KIP-690)"),
        ],
        help_text="Identity policy: a remote topic has the name of its source topic. Do not replicate "
        "it back.",
    )
    separator = forms.CharField(
        max_length=10, initial=".", help_text="Between alias and topic name, as in MirrorMaker 2."
    )
    replication_factor = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=32767,
        help_text="Of new remote topics. Empty: as on the source, at most one replica per broker.",
    )
    tasks = forms.IntegerField(
        min_value=1,
        max_value=MAX_TASKS,
        initial=1,
        help_text="Number of Spark tasks that share the partitions.",
    )
    on_recreated = forms.ChoiceField(
        label="Re-created source topic",
        choices=[
            (OnRecreated.STOP.value, "Stop the topic until a user accepts it"),
            (OnRecreated.FROM_START.value, "Replicate the new topic from its start"),
        ],
    )
    delivery = forms.ChoiceField(
        label="Delivery guarantee",
        choices=[
            (
                Guarantee.EXACTLY_ONCE.value,
                "Exactly once (records and positions in one transaction)",
            ),
            (Guarantee.AT_LEAST_ONCE.value, "At least once (a crash may duplicate records)"),
        ],
        help_text="For exactly once, consumers of remote topics need isolation.level=read_committed.",
    )
    isolation_level = forms.ChoiceField(
        label="Source isolation level",
        choices=[
            (IsolationLevel.READ_COMMITTED.value, "read_committed: committed records only"),
            (
                IsolationLevel.READ_UNCOMMITTED.value,
                "read_uncommitted: open and aborted transactions, too",
            ),
        ],
    )
    path = forms.ChoiceField(
        label="Copy mode",
        choices=[
            (CopyPath.AUTO.value, "Batch pass-through where possible"),
            (CopyPath.RECORD.value, "Per record (slow, at least once)"),
        ],
    )
    commit_interval_ms = forms.IntegerField(
        label="Commit interval (ms)",
        min_value=SHORTEST_COMMIT_MS,
        max_value=LONGEST_COMMIT_MS,
        initial=DEFAULT_COMMIT_MS,
        help_text="Maximum time between two commits; applies while there is a backlog. A flow without "
        "lag commits after "
        "some milliseconds.",
    )
    max_bytes_per_s = forms.IntegerField(
        label="Limit (bytes/s)",
        required=False,
        min_value=LOWEST_BYTES_PER_S,
        max_value=HIGHEST_BYTES_PER_S,
        help_text="Of the whole flow, in compressed bytes of the source. Empty: no limit.",
    )
    offset_syncs = forms.ChoiceField(
        label="Offset syncs",
        choices=[
            (SyncsLocation.TARGET.value, "On the target, in the same transaction as the records"),
            (SyncsLocation.SOURCE.value, "On the source, as MirrorMaker 2 does by default"),
            (SyncsLocation.NONE.value, "None: offsets cannot be translated"),
        ],
    )
    heartbeats = forms.ChoiceField(
        label="Heartbeats",
        choices=[
            (HeartbeatsTo.TARGET.value, "To the target"),
            (HeartbeatsTo.BOTH.value, "To both clusters"),
            (HeartbeatsTo.NONE.value, "None"),
        ],
    )
    engine = forms.ChoiceField(
        choices=[
            (FlowEngine.SHARED.value, "Shared with other flows"),
            (FlowEngine.OWN.value, "Application of its own"),
        ],
        initial=FlowEngine.SHARED.value,
        help_text="The Spark application that replicates. One of its own takes some 600 MB of memory: for "
        "isolation, or for a different Spark.",
    )
    client_rack = forms.CharField(
        label="Rack of the tasks",
        max_length=100,
        required=False,
        help_text="A broker.rack of the source: tasks fetch from a replica in that rack if there is one.",
    )
    on_existing = forms.ChoiceField(
        label="Existing topic of the same name on the target",
        choices=[
            (OnExisting.REFUSE.value, "Refuse"),
            (OnExisting.APPEND.value, "Append to it"),
        ],
        help_text="Only with the identity policy.",
    )
    grow_partitions = forms.BooleanField(
        label="Add partitions to remote topics when the source topic grows",
        required=False,
        initial=True,
    )
    sync_configs = forms.BooleanField(
        label="Sync topic configs from the source", required=False, initial=True
    )
    delete_target_overrides = forms.BooleanField(
        label="Delete target-only topic configs",
        required=False,
        help_text="As MirrorMaker 2 does every ten minutes.",
    )
    config_properties_exclude = _patterns(
        "Excluded topic configs",
        "Regular expressions, one per line.",
        DEFAULT_CONFIG_PROPERTIES_EXCLUDE,
        3,
    )
    sync_acls = forms.BooleanField(
        label="Sync topic ACLs (READ only)",
        required=False,
        help_text="Needs ALTER on the target cluster. ACLs are added, never deleted.",
    )
    groups = _patterns(
        "Consumer groups",
        "Groups whose offsets are translated. Regular expressions, one per line.",
        (".*",),
        2,
    )
    groups_exclude = _patterns(
        "Excluded consumer groups", "They override the patterns above.", DEFAULT_GROUPS_EXCLUDE, 3
    )

    emit_checkpoints_interval_s = forms.IntegerField(
        label="Checkpoint interval (s)",
        min_value=0,
        max_value=LONGEST_CHECKPOINTS_S,
        initial=DEFAULT_CHECKPOINTS_S,
        help_text="Offsets of these groups are translated and written to the target. 0: no checkpoints.",
    )
    sync_group_offsets = forms.BooleanField(
        label="Sync group offsets to the target",
        required=False,
        help_text="For groups of the same name without members on the target; they also follow offsets "
        "that move back.",
    )
    sync_group_offsets_interval_s = forms.IntegerField(
        label="Group offset sync interval (s)",
        min_value=1,
        max_value=LONGEST_CHECKPOINTS_S,
        initial=DEFAULT_CHECKPOINTS_S,
        help_text="Minimum interval; groups are synced with a round of checkpoints.",
    )

    confirm = forms.CharField(
        label="Confirmation",
        required=False,
        max_length=100,
        help_text="Type the flow's name to confirm this warning.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, aliases: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for side in ("source", "target"):
            choices = [("", "Choose a cluster"), *((alias, alias) for alias in aliases)]
            self.fields[side].choices = choices  # type: ignore[attr-defined]  # both are ChoiceFields

    @property
    def parts(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The two open parts of the form: heading and fields."""
        is_asked = "confirm" in self.errors or bool(self.data.get("confirm"))
        later = (*HOW_FIELDS, *ADVANCED_FIELDS, *(() if is_asked else ("confirm",)))
        first = [field for field in self if field.name not in later]
        return [
            ("Clusters and topics", first),
            ("Delivery and consumer groups", [self[name] for name in HOW_FIELDS]),
        ]

    @property
    def advanced(self) -> list[forms.BoundField]:
        """The fields whose defaults fit most flows."""
        return [field for field in self if field.name in ADVANCED_FIELDS]

    @property
    def is_advanced_wrong(self) -> bool:
        """Whether a folded field has an error."""
        return any(name in self.errors for name in ADVANCED_FIELDS)

    @property
    def confirmed(self) -> str:
        """The flow's name, typed again to confirm a warning."""
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

    start = forms.BooleanField(label="Start the flow now", required=False, initial=True)

    @property
    def is_started(self) -> bool:
        """Whether the flow is to run; the box is ticked by default, also for a monitored flow."""
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
