"""Sync of configs from a source topic to its remote topic. Pure.

Source: MirrorSourceConnector.targetConfig and incrementalAlterConfigs of Kafka 4.3.1, and
DefaultConfigPropertyFilter with `use.defaults.from=target`. There, a value that the source has by
default is deleted on the target every time, and with it whatever somebody has set only there. Here
it is kept and named, unless the flow says `delete_target_overrides`; even then an override that makes
the remote topic like its source stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from jobs.cluster.admin.configs import ConfigAlteration, ConfigSource, ConfigValue
from jobs.replication.flow.selection import NameFilter
from jobs.replication.flow.spec import FlowSpec

Configs = Mapping[str, ConfigValue]

# With LogAppendTime or a compression of its own, the target's broker would change every record.
OWN_CONFIGS = {"message.timestamp.type": "CreateTime", "compression.type": "producer"}


class Verdict(StrEnum):
    """What the sync does about a setting."""

    SET = "set"
    DELETE = "delete"
    KEEP = "keep"


class Reason(StrEnum):
    """Why, as a sentence for a person."""

    CHANGED = "The source topic has this value."
    TAKEN_BACK = "The source topic no longer sets the value that was copied from it."
    TOLD_TO_DELETE = "Only the remote topic sets it, and the flow deletes such overrides."
    TARGET_ONLY = "Only the remote topic sets it: kept."
    SAME_AS_DEFAULT = "Only the remote topic sets it, to the source's default: kept."
    OWN = "A copy has the timestamps and the compression of its source record: never changed by the sync."
    EXCLUDED = "The flow excludes it (config_properties_exclude)."
    STATIC = "It is set in the source broker's server.properties, which is not synced."
    TARGET_DEFAULT = "Neither topic sets it, and the clusters' defaults differ."
    NOT_ON_TARGET = "The target's version of Kafka does not know this config."
    NOT_ON_SOURCE = "The source's version of Kafka does not know this config: kept."
    READ_ONLY = "It cannot be changed, or is secret."


_VERDICTS = {
    Reason.CHANGED: Verdict.SET,
    Reason.TAKEN_BACK: Verdict.DELETE,
    Reason.TOLD_TO_DELETE: Verdict.DELETE,
}


@dataclass(frozen=True, slots=True)
class ConfigDifference:
    """A setting in which the two topics differ, or that only the remote topic sets.

    `mm2_deletes`: MirrorMaker 2's next sync would take it away from the remote topic.
    """

    key: str
    source: ConfigValue | None
    target: ConfigValue | None
    reason: Reason
    mm2_deletes: bool = False

    @property
    def verdict(self) -> Verdict:
        """What the next sync does."""
        return _VERDICTS.get(self.reason, Verdict.KEEP)

    @property
    def source_value(self) -> str | None:
        """The source topic's value; None when it has none."""
        return self.source.value if self.source else None

    @property
    def target_value(self) -> str | None:
        """The remote topic's value; None when it has none."""
        return self.target.value if self.target else None

    def alteration(self) -> ConfigAlteration | None:
        """Return what to do on the target; None for nothing."""
        if self.verdict is Verdict.KEEP:
            return None
        value = self.source_value if self.verdict is Verdict.SET else None
        return ConfigAlteration(self.key, value)


def compare_configs(
    flow: FlowSpec, source: Configs, target: Configs, copied: Mapping[str, str] | None = None
) -> list[ConfigDifference]:
    """Return the differences of two topics with the verdict on each, sorted by key.

    `copied` are the overrides that the source topic had at the last sync: one that is gone since,
    and whose value the remote topic still has, is removed there, too.
    """
    excluded = NameFilter(flow.config_properties_exclude)
    found = []
    for key in sorted(source.keys() | target.keys()):
        is_excluded = excluded.accepts(key)
        one = _Setting(key, source.get(key), target.get(key))
        if one.is_worth_telling:
            reason = one.exemption(is_excluded=is_excluded) or one.rule(flow, copied or {})
            mm2_deletes = one.is_target_only and not is_excluded
            found.append(ConfigDifference(key, one.source, one.target, reason, mm2_deletes))
    return found


def configs_for_creation(flow: FlowSpec, source: Configs) -> dict[str, str]:
    """Return the settings that a new remote topic gets from its source.

    Source: MirrorSourceConnector.targetConfig(config, incremental=false): what is not a default.
    """
    excluded = NameFilter(flow.config_properties_exclude)
    return {
        key: value.value
        for key, value in source.items()
        if value.value is not None
        and value.source not in (ConfigSource.DEFAULT_CONFIG, ConfigSource.STATIC_BROKER_CONFIG)
        and not (value.is_read_only or value.is_sensitive)
        and not excluded.accepts(key)
        and key not in OWN_CONFIGS
    }


def overrides_of(source: Configs) -> dict[str, str]:
    """Return what a topic itself sets: the `copied` of the next comparison."""
    return {k: v.value for k, v in source.items() if v.is_override and v.value is not None}


@dataclass(frozen=True, slots=True)
class _Setting:
    """One setting on both sides; None where that side does not know it."""

    key: str
    source: ConfigValue | None
    target: ConfigValue | None

    @property
    def is_worth_telling(self) -> bool:
        """Whether the values differ, or the remote topic has an override of its own.

        A default of a setting that the other side does not know tells nothing.
        """
        if self.source is None or self.target is None:
            return any(side and not _is_default(side) for side in (self.source, self.target))
        return self.is_target_only or self.source.value != self.target.value

    @property
    def is_target_only(self) -> bool:
        """Whether the remote topic sets what its source topic has by default."""
        if self.source is None or self.target is None:
            return False
        return _is_default(self.source) and self.target.is_override

    def exemption(self, *, is_excluded: bool) -> Reason | None:
        """Return why the value is not looked at; None when it is."""
        if any(side and (side.is_read_only or side.is_sensitive) for side in self._sides()):
            return Reason.READ_ONLY
        if self.key in OWN_CONFIGS:
            return Reason.OWN
        if is_excluded:
            return Reason.EXCLUDED
        if self.source is None:
            return Reason.NOT_ON_SOURCE
        if self.target is None:
            return Reason.NOT_ON_TARGET
        is_static = self.source.source is ConfigSource.STATIC_BROKER_CONFIG
        return Reason.STATIC if is_static else None

    def rule(self, flow: FlowSpec, copied: Mapping[str, str]) -> Reason:
        source, target = self._sides()
        if source is None or target is None or not _is_default(source):
            return Reason.CHANGED
        if not target.is_override:
            return Reason.TARGET_DEFAULT
        if copied.get(self.key) == target.value:
            return Reason.TAKEN_BACK
        if source.value == target.value:
            return Reason.SAME_AS_DEFAULT
        return Reason.TOLD_TO_DELETE if flow.delete_target_overrides else Reason.TARGET_ONLY

    def _sides(self) -> tuple[ConfigValue | None, ConfigValue | None]:
        return self.source, self.target


def _is_default(value: ConfigValue) -> bool:
    return value.source is ConfigSource.DEFAULT_CONFIG
