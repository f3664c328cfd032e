"""Thresholds and exclusions: which value holds for one subject of a check. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from jobs.checks.check import CHECKS, Check, Pattern
from jobs.findings import Finding
from jobs.patterns.matching import Matcher, glob_expression


@dataclass(frozen=True, slots=True)
class Setting:
    """Values that an administrator set for a check, of all clusters and flows or of one.

    `topic` and `group` are globs, empty for all. A setting that `is_excluded` turns the check off there.
    """

    check: str
    values: Mapping[str, float] = field(default_factory=dict)
    cluster: int | None = None
    flow: int | None = None
    topic: str = ""
    group: str = ""
    is_excluded: bool = False

    @property
    def precision(self) -> tuple[bool, bool, bool]:
        """How narrow it is; a narrower setting wins."""
        return bool(self.topic or self.group), self.flow is not None, self.cluster is not None


@dataclass(frozen=True)
class Settings:
    """All settings; a later one of the same precision wins."""

    rows: tuple[Setting, ...] = ()
    _matchers: dict[str, Matcher] = field(default_factory=dict)
    _known: dict[tuple[object, ...], Mapping[str, float] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Setting]) -> Settings:
        return cls(tuple(sorted(rows, key=lambda one: one.precision)))

    @cached_property
    def by_check(self) -> dict[str, list[Setting]]:
        found: dict[str, list[Setting]] = {}
        for one in self.rows:
            found.setdefault(one.check, []).append(one)
        return found

    def values(
        self,
        check: Check,
        *,
        cluster: int | None = None,
        flow: int | None = None,
        topic: str = "",
        group: str = "",
    ) -> Mapping[str, float] | None:
        """Return the thresholds that hold for a subject; None: the check is off there."""
        mine = self.by_check.get(check.id, [])
        key = (check.id, cluster, flow, topic, group) if mine else (check.id,)
        if key not in self._known:
            self._known[key] = self._resolved(check, mine, cluster, flow, topic, group)
        return self._known[key]

    def in_force(
        self, found: Iterable[Finding], *, cluster: int | None = None, flow: int | None = None
    ) -> list[Finding]:
        """Return the findings whose check is not off for their subject."""
        return [one for one in found if self._is_on(one, cluster, flow)]

    def _is_on(self, one: Finding, cluster: int | None, flow: int | None) -> bool:
        known = CHECKS.by_id.get(one.code)
        if known is None:
            return True
        group = one.subject if known.narrowed_by is Pattern.GROUP else ""
        values = self.values(known, cluster=cluster, flow=flow, topic=one.topic, group=group)
        return values is not None

    def _resolved(
        self,
        check: Check,
        mine: list[Setting],
        cluster: int | None,
        flow: int | None,
        topic: str,
        group: str,
    ) -> Mapping[str, float] | None:
        values, is_excluded = dict(check.defaults), False
        for one in mine:
            if (
                one.cluster in {None, cluster}
                and one.flow in {None, flow}
                and self._fits(one.topic, topic)
                and self._fits(one.group, group)
            ):
                values |= {name: one.values[name] for name in one.values if name in values}
                is_excluded = one.is_excluded
        return None if is_excluded else values

    def _fits(self, glob: str, name: str) -> bool:
        if not glob:
            return True
        if glob not in self._matchers:
            self._matchers[glob] = Matcher((glob_expression(glob),))
        return self._matchers[glob].matches(name)
