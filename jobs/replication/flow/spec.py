"""A replication flow: what is copied from where to where, under which names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.cluster.connection import Connection
from jobs.cluster.errors import InvalidFields
from jobs.near_names import near_name
from jobs.patterns.matching import list_problem
from jobs.replication.naming.custom_policy import (
    CustomReplicationPolicy,
    PolicyTemplates,
    read_templates,
)

DEFAULT_TOPICS_EXCLUDE = (r".*[\-\.]internal", r".*\.replica", r"__.*")
DEFAULT_GROUPS_EXCLUDE = (r"console-consumer-.*", r"connect-.*", r"__.*")
# Source: DefaultConfigPropertyFilter.CONFIG_PROPERTIES_EXCLUDE_DEFAULT.
DEFAULT_CONFIG_PROPERTIES_EXCLUDE = (
    r"follower\.replication\.throttled\.replicas",
    r"leader\.replication\.throttled\.replicas",
    r"message\.timestamp\.difference\.max\.ms",
    r"message\.timestamp\.type",
    r"unclean\.leader\.election\.enable",
    r"min\.insync\.replicas",
)
MAX_TASKS = 64
SHORTEST_COMMIT_MS, DEFAULT_COMMIT_MS, LONGEST_COMMIT_MS = 50, 1000, 60_000
# How long a flow that was set apart by its engine keeps an application of its own.
SET_APART_H = 24
DEFAULT_CHECKPOINTS_S, LONGEST_CHECKPOINTS_S = 60, 86_400
LOWEST_BYTES_PER_S, HIGHEST_BYTES_PER_S = 1024, 2**40


class PolicyName(StrEnum):
    """Which `ReplicationPolicy` names the remote topics."""

    DEFAULT = "default"
    IDENTITY = "identity"
    CUSTOM = "custom"


class CopiedBy(StrEnum):
    """Who moves the records: crosslog, or a MirrorMaker 2 that crosslog only watches."""

    CROSSLOG = "crosslog"
    MIRROR_MAKER = "mirror_maker"


class FlowEngine(StrEnum):
    """Which Spark application copies: one that hosts many flows, or one of the flow's own."""

    SHARED = "shared"
    OWN = "own"


class OnRecreated(StrEnum):
    """What to do when a source topic was deleted and created again under the same name."""

    STOP = "stop"
    FROM_START = "from_start"


class OnExisting(StrEnum):
    """What to do when a topic that keeps its name is on the target already, written by somebody else."""

    REFUSE = "refuse"
    APPEND = "append"


class CopyPath(StrEnum):
    """How records travel: `auto` passes whole batches wherever the partition allows it."""

    AUTO = "auto"
    RECORD = "record"


class Guarantee(StrEnum):
    """What a crash may leave on the target: nothing twice, or some records twice."""

    EXACTLY_ONCE = "exactly_once"
    AT_LEAST_ONCE = "at_least_once"


class IsolationLevel(StrEnum):
    """Kafka's `isolation.level`: whether records of open and aborted transactions are copied."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


class SyncsLocation(StrEnum):
    """Which cluster keeps the topic of offset syncs (MirrorMaker 2's `offset-syncs.topic.location`)."""

    TARGET = "target"
    SOURCE = "source"
    NONE = "none"


class HeartbeatsTo(StrEnum):
    """Which clusters get heartbeats: the target, or the source too, from where they are copied back."""

    TARGET = "target"
    BOTH = "both"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class FlowSpec:
    """A flow as the engine needs it. Patterns are regular expressions that match a whole name.

    `commit_interval_ms` is the longest time between two commits while records flow, and a flow that keeps up
    commits sooner; `max_bytes_per_s` limits what the whole flow reads, None for no limit.

    Remote topics follow the source: `grow_partitions` adds partitions, `sync_configs` and `sync_acls`
    set what differs. `config_properties_exclude` are settings that are never copied. With
    `delete_target_overrides`, a setting that only the remote topic has is deleted, as MirrorMaker 2
    does it.

    `emit_checkpoints_interval_s` is how often the offsets of groups are translated and told in MirrorMaker
    2's checkpoints, 0 for never. With `sync_group_offsets` they are also written to groups of the same
    name on the target, as long as they have no members there, at most every `sync_group_offsets_interval_s`.

    `client_rack` is where the flow's tasks run: brokers may send them to a replica in the same rack
    (KIP-392); empty: no rack preference. `custom_policy` is what the policy `custom` makes names of, else
    None.

    `engine` says which Spark application copies: the one that hosts many flows, or one of its own, for
    isolation or for a different Spark.

    A flow `copied_by` MirrorMaker 2 is never run by crosslog: only what names topics and groups counts,
    and where the offset syncs are (unless it is said, on the source, as MirrorMaker 2 keeps them).
    """

    name: str
    source: Connection
    target: Connection
    topics: tuple[str, ...] = (".*",)
    topics_exclude: tuple[str, ...] = DEFAULT_TOPICS_EXCLUDE
    groups: tuple[str, ...] = (".*",)
    groups_exclude: tuple[str, ...] = DEFAULT_GROUPS_EXCLUDE
    policy: PolicyName = PolicyName.DEFAULT
    separator: str = "."
    custom_policy: PolicyTemplates | None = None
    replication_factor: int | None = None
    tasks: int = 1
    on_recreated: OnRecreated = OnRecreated.STOP
    path: CopyPath = CopyPath.AUTO
    delivery: Guarantee = Guarantee.EXACTLY_ONCE
    isolation_level: IsolationLevel = IsolationLevel.READ_COMMITTED
    offset_syncs: SyncsLocation = SyncsLocation.TARGET
    heartbeats: HeartbeatsTo = HeartbeatsTo.BOTH
    commit_interval_ms: int = DEFAULT_COMMIT_MS
    max_bytes_per_s: int | None = None
    on_existing: OnExisting = OnExisting.REFUSE
    grow_partitions: bool = True
    sync_configs: bool = True
    delete_target_overrides: bool = False
    config_properties_exclude: tuple[str, ...] = DEFAULT_CONFIG_PROPERTIES_EXCLUDE
    sync_acls: bool = False
    emit_checkpoints_interval_s: int = DEFAULT_CHECKPOINTS_S
    sync_group_offsets: bool = False
    sync_group_offsets_interval_s: int = DEFAULT_CHECKPOINTS_S
    client_rack: str = ""
    engine: FlowEngine = FlowEngine.SHARED
    copied_by: CopiedBy = CopiedBy.CROSSLOG

    @property
    def is_watched(self) -> bool:
        """Whether somebody else copies and crosslog only watches."""
        return self.copied_by is CopiedBy.MIRROR_MAKER

    def same_cluster_problem(self) -> str | None:
        """Return why source and target cannot be a flow's when both are known to be one cluster."""
        cluster_id = self.source.cluster_id
        if not cluster_id or cluster_id != self.target.cluster_id:
            return None
        return (
            f"{self.source.alias} and {self.target.alias} are the same cluster (cluster id {cluster_id}): "
            "a flow needs two clusters."
        )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> FlowSpec:
        """Read a flow from untrusted JSON or YAML values; raises `InvalidFields` naming every bad field.

        Errors inside the connections are named `source.<field>` and `target.<field>`.
        """
        errors = {k: _unknown(k) for k in values if k not in _FIELDS}
        values = _with_defaults_of_mirror_maker(values)
        source = _connection(values.get("source"), "source", errors)
        target = _connection(values.get("target"), "target", errors)
        name = values.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            errors["name"] = (
                "A name is 1 to 100 letters, digits, spaces or any of - _ . > "
                + "and starts with a letter or digit."
            )
        if source and target and source.alias == target.alias:
            errors["target"] = "Source and target have the same alias: a flow needs two clusters."
        spec = {
            **{
                name: _patterns(values, name, default, errors) for name, default in PATTERNS.items()
            },
            **{name: _flag(values, name, default, errors) for name, default in FLAGS.items()},
            "separator": _separator(values, errors),
            "custom_policy": _templates(values, source, target, errors),
            "client_rack": _rack(values, errors),
            **{name: _count(values, name, *rule, errors) for name, rule in COUNTS.items()},
            **{name: _choice(values, name, default, errors) for name, default in CHOICES.items()},
        }
        if values.get("sync_group_offsets") is True and spec["emit_checkpoints_interval_s"] == 0:
            errors["sync_group_offsets"] = (
                "Offsets of groups are synced from checkpoints, and emit_checkpoints_interval_s is 0: never."
            )
        if errors or source is None or target is None:
            raise InvalidFields(errors)
        return cls(name=str(name), source=source, target=target, **spec)

    def to_mapping(self) -> dict[str, Any]:
        """Return the inverse of `from_mapping`."""
        return {
            "name": self.name,
            "source": self.source.to_mapping(),
            "target": self.target.to_mapping(),
            **{name: list(getattr(self, name)) for name in PATTERNS},
            **{name: getattr(self, name) for name in FLAGS},
            "separator": self.separator,
            "custom_policy": self.custom_policy.to_mapping() if self.custom_policy else {},
            "client_rack": self.client_rack,
            **{name: getattr(self, name) for name in COUNTS},
            **{name: getattr(self, name).value for name in CHOICES},
        }


# The settings that are lists of regular expressions, with their defaults.
PATTERNS: dict[str, tuple[str, ...]] = {
    "topics": (".*",),
    "topics_exclude": DEFAULT_TOPICS_EXCLUDE,
    "groups": (".*",),
    "groups_exclude": DEFAULT_GROUPS_EXCLUDE,
    "config_properties_exclude": DEFAULT_CONFIG_PROPERTIES_EXCLUDE,
}
# The settings that are true or false, with their defaults.
FLAGS: dict[str, bool] = {
    "grow_partitions": True,
    "sync_configs": True,
    "delete_target_overrides": False,
    "sync_acls": False,
    "sync_group_offsets": False,
}
# The settings that are whole numbers, with their defaults (None: not set) and bounds.
COUNTS: dict[str, tuple[int | None, tuple[int, int]]] = {
    "replication_factor": (None, (1, 32767)),
    "tasks": (1, (1, MAX_TASKS)),
    "commit_interval_ms": (DEFAULT_COMMIT_MS, (SHORTEST_COMMIT_MS, LONGEST_COMMIT_MS)),
    "max_bytes_per_s": (None, (LOWEST_BYTES_PER_S, HIGHEST_BYTES_PER_S)),
    "emit_checkpoints_interval_s": (DEFAULT_CHECKPOINTS_S, (0, LONGEST_CHECKPOINTS_S)),
    "sync_group_offsets_interval_s": (DEFAULT_CHECKPOINTS_S, (1, LONGEST_CHECKPOINTS_S)),
}
# The settings that are one of a few words, with their defaults.
CHOICES: dict[str, StrEnum] = {
    "policy": PolicyName.DEFAULT,
    "on_recreated": OnRecreated.STOP,
    "on_existing": OnExisting.REFUSE,
    "path": CopyPath.AUTO,
    "delivery": Guarantee.EXACTLY_ONCE,
    "isolation_level": IsolationLevel.READ_COMMITTED,
    "offset_syncs": SyncsLocation.TARGET,
    "heartbeats": HeartbeatsTo.BOTH,
    "engine": FlowEngine.SHARED,
    "copied_by": CopiedBy.CROSSLOG,
}
_FIELDS = frozenset(FlowSpec.__dataclass_fields__)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.>-]{0,99}")


def _unknown(name: str) -> str:
    near = near_name(name, _FIELDS)
    return f"{name} is not a setting of a flow.{f' Use {near}.' if near else ''}"


def _with_defaults_of_mirror_maker(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values with MirrorMaker 2's own default where it copies and nothing else is said."""
    if values.get("copied_by") != CopiedBy.MIRROR_MAKER or values.get("offset_syncs"):
        return values
    return {**values, "offset_syncs": SyncsLocation.SOURCE.value}


def _connection(value: object, field: str, errors: dict[str, str]) -> Connection | None:
    if not isinstance(value, Mapping):
        errors[field] = "A mapping with alias and bootstrap_servers is needed."
        return None
    try:
        return Connection.from_mapping(value)
    except InvalidFields as error:
        errors |= {f"{field}.{name}": text for name, text in error.errors.items()}
        return None


def _patterns(
    values: Mapping[str, Any], field: str, default: tuple[str, ...], errors: dict[str, str]
) -> tuple[str, ...]:
    value = values.get(field)
    if value is None:
        return default
    if isinstance(value, str) or not isinstance(value, Sequence):
        errors[field] = "A list of regular expressions is needed."
        return default
    problem = list_problem(value)
    if problem:
        errors[field] = problem
    return tuple(str(pattern) for pattern in value)


def _choice(values: Mapping[str, Any], field: str, default: Any, errors: dict[str, str]) -> Any:
    value = values.get(field)
    if value is None:
        return default
    try:
        return type(default)(value)
    except ValueError:
        errors[field] = f"One of {', '.join(choice.value for choice in type(default))}."
        return default


def _flag(values: Mapping[str, Any], field: str, default: bool, errors: dict[str, str]) -> bool:  # noqa: FBT001  a default
    value = values.get(field)
    if isinstance(value, bool):
        return value
    if value is not None:
        errors[field] = "True or false."
    return default


def _rack(values: Mapping[str, Any], errors: dict[str, str]) -> str:
    value = values.get("client_rack") or ""
    if isinstance(value, str) and re.fullmatch(r"[!-~]{0,100}", value):
        return value
    errors["client_rack"] = "A rack is 1 to 100 visible characters, as in the brokers' broker.rack."
    return ""


def _separator(values: Mapping[str, Any], errors: dict[str, str]) -> str:
    value = values.get("separator", ".")
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9._-]{1,10}", value):
        errors["separator"] = "A separator is 1 to 10 characters that a topic name may have."
        return "."
    return value


def _templates(
    values: Mapping[str, Any],
    source: Connection | None,
    target: Connection | None,
    errors: dict[str, str],
) -> PolicyTemplates | None:
    """Read the templates of a custom policy; those given for another policy are dropped."""
    if values.get("policy") != PolicyName.CUSTOM:
        return None
    templates = read_templates(values.get("custom_policy"), errors, "custom_policy")
    if templates is not None:
        policy = CustomReplicationPolicy(templates)
        wrong = [policy.problem_with_alias(side.alias) for side in (source, target) if side]
        if any(wrong):
            errors["custom_policy.remote_topic"] = next(text for text in wrong if text)
    return templates


def _count(
    values: Mapping[str, Any],
    field: str,
    default: int | None,
    bounds: tuple[int, int],
    errors: dict[str, str],
) -> Any:
    value = values.get(field)
    if value is None:
        return default
    least, most = bounds
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    errors[field] = f"A whole number from {least} to {most}."
    return default
