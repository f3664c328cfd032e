"""Which cause each open finding has: findings with one cause become one incident. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from jobs.checks.check import CHECKS, Area
from jobs.checks.incident_texts import (
    LONGEST_KEY,
    LONGEST_SUBJECT,
    effects_of,
    is_of_flows,
    listed,
    sentence_of,
    title_of,
    words_of,
    worst,
)
from jobs.checks.open_findings import (
    BROKER_DOWN,
    UNREACHABLE,
    Cause,
    Names,
    OpenFinding,
    Recovering,
)
from jobs.limits import short
from jobs.numbers import format_count
from jobs.severity import Severity

# What began so shortly before its cause still is its effect: rounds of several rooms see them.
BEFORE_ITS_CAUSE = timedelta(minutes=2)
# Checks of causes whose effects may outlast them: replicas catch up after their broker is back.
LASTING = frozenset({BROKER_DOWN, UNREACHABLE, "broker_restarts"})
# Findings of a quorum that a silent voter explains.
VOTER_SILENT, COUNTS_OF_VOTERS = "voter_silent", frozenset({"bare_majority", "no_majority"})
OF_SILENT_VOTERS = COUNTS_OF_VOTERS | {VOTER_SILENT, "no_active_controller"}


def causes_of(
    findings: Iterable[OpenFinding], names: Names, recovering: Iterable[Recovering] = ()
) -> Sequence[Cause]:
    """Return the causes of open findings, worst first.

    Each finding has one cause; only those that open no incident and that no cause explains have none.
    """
    known = _Known(list(findings), names, {one.key: one for one in recovering})
    groups: dict[str, list[OpenFinding]] = {}
    for one in known.findings:
        key = known.explained_by(one) or ("" if _opens_none(one) else _own_key(one))
        if key:
            groups.setdefault(key, []).append(one)
    # Advice and notices, such as an election that is over, keep no incident open.
    causes = [
        known.cause(key, group)
        for key, group in groups.items()
        if key not in known.recovering or not all(map(_opens_none, group))
    ]
    return sorted(causes, key=lambda one: (-one.severity.rank, one.began_at, one.key))


_UNREACHABLE, _BROKER = "unreachable:", "broker:"


def _opens_none(one: OpenFinding) -> bool:
    return one.severity.rank <= Severity.INFO.rank or _is_advice(one.code)


def _is_advice(code: str) -> bool:
    check = CHECKS.by_id.get(code)
    return check is not None and check.is_advice


def _area(one: OpenFinding) -> Area | None:
    check = CHECKS.by_id.get(one.code)
    return None if check is None else check.area


def _is_about_one_broker(one: OpenFinding) -> bool:
    is_of_brokers = one.code == BROKER_DOWN or _area(one) is Area.BROKER
    return is_of_brokers and one.cluster is not None and len(one.brokers) == 1


def _own_key(one: OpenFinding) -> str:
    """Return the cause of a finding that no other finding explains."""
    if one.code == UNREACHABLE:
        return f"{_UNREACHABLE}{one.cluster}"
    if _is_about_one_broker(one):
        return f"{_BROKER}{one.cluster}:{one.brokers[0]}"
    scope = next((place for place in _scopes(one) if place[1] is not None), None)
    if scope is None or _area(one) is Area.CROSSLOG:
        return f"crosslog:{one.code}:{scope[1] if scope else ''}:{one.subject}"
    return _key_in_cluster(one) if scope[0] == "cluster" else f"{scope[0]}:{scope[1]}"


def _scopes(one: OpenFinding) -> tuple[tuple[str, int | None], ...]:
    return ("flow", one.flow), ("quorum", one.log), ("cluster", one.cluster)


def _key_in_cluster(one: OpenFinding) -> str:
    area = _area(one)
    if area is Area.STREAMS:
        return f"streams:{one.cluster}:{one.evidence.get('application') or one.subject}"
    if area is Area.GROUP:
        return f"group:{one.cluster}:{one.evidence.get('group', '')}"
    if one.kind == "observers" or area is Area.OBSERVER:
        return f"observers:{one.cluster}"
    return f"{'partitions' if area is Area.PARTITION else 'cluster'}:{one.cluster}"


@dataclass
class _Known:
    """All open findings, and what they explain."""

    findings: list[OpenFinding]
    names: Names
    recovering: Mapping[str, Recovering]

    @cached_property
    def unreachable(self) -> dict[int, OpenFinding]:
        return {
            one.cluster: one
            for one in self.findings
            if one.code == UNREACHABLE and one.cluster is not None and not _opens_none(one)
        }

    @cached_property
    def down(self) -> dict[int, dict[int, OpenFinding | None]]:
        """Brokers that are down, by cluster, or whose incident is open after their return (None)."""
        found: dict[int, dict[int, OpenFinding | None]] = {}
        for back in self.recovering.values():
            if back.broker is not None:
                found.setdefault(back.cluster, {})[back.broker] = None
        for one in self.findings:
            if one.code == BROKER_DOWN and _is_about_one_broker(one) and not _opens_none(one):
                found.setdefault(one.clusters[0], {})[one.brokers[0]] = one
        return found

    @cached_property
    def silent(self) -> dict[int, set[int]]:
        """Voters that do not fetch, by metadata log."""
        found: dict[int, set[int]] = {}
        for one in self.findings:
            if one.log is not None and one.code in OF_SILENT_VOTERS:
                nodes = one.evidence.get("silent") or ()
                if one.code == VOTER_SILENT and one.subject.isdecimal():
                    nodes = (int(one.subject),)
                found.setdefault(one.log, set()).update(nodes)
        return found

    def explained_by(self, one: OpenFinding) -> str:
        """Return the key of the cluster or the broker that explains a finding; empty for none."""
        if key := self._unreachable(one):
            return key
        if one.code == BROKER_DOWN:
            return ""
        for cluster in one.clusters:
            brokers = self._brokers(one, cluster)
            down = self.down.get(cluster, {})
            if brokers and brokers <= down.keys():
                first = min(brokers, key=lambda broker: _since(down[broker], broker))
                head = down[first]
                return (head and self._unreachable(head)) or f"{_BROKER}{cluster}:{first}"
        stays = one.incident.startswith(_UNREACHABLE) or not one.brokers
        if one.incident in self.recovering and stays and one.code != UNREACHABLE:
            return one.incident
        return ""

    def _unreachable(self, one: OpenFinding) -> str:
        if one.code == UNREACHABLE:
            return ""
        heads = [self.unreachable[place] for place in one.clusters if place in self.unreachable]
        heads = [head for head in heads if one.opened_at >= head.opened_at - BEFORE_ITS_CAUSE]
        if not heads:
            return ""
        return _own_key(min(heads, key=lambda head: (head.opened_at, head.id)))

    def _brokers(self, one: OpenFinding, cluster: int) -> frozenset[int]:
        """Return the brokers of a cluster that cause a finding if all of them are down."""
        if one.log is not None and one.code in OF_SILENT_VOTERS:
            silent = self.silent.get(one.log, set())
            heads = [self.down.get(cluster, {}).get(node) for node in silent]
            is_later = all(
                head is None or one.opened_at >= head.opened_at - BEFORE_ITS_CAUSE for head in heads
            )
            return frozenset(silent if is_later else ())
        if one.flow is not None and not one.evidence.get("offline"):
            return frozenset()
        return frozenset(one.brokers)

    def cause(self, key: str, group: list[OpenFinding]) -> Cause:
        """Return the cause of some findings, with its effects."""
        head = min(group, key=lambda one: _place(one, key))
        back = self.recovering.get(key)
        if back is not None and _own_key(head) != key:
            return self._over(back, head, group)
        kind, subject = _subject(head, key)
        place = self._place_of(head)
        effects = effects_of(one for one in group if one is not head and one.code != head.code)
        # How many voters answer says it already.
        left_out = VOTER_SILENT if COUNTS_OF_VOTERS & {one.check for one in effects} else ""
        texts = [
            one.text
            for one in effects
            if one.check != left_out and not _is_advice(one.check) and not is_of_flows(one, group)
        ]
        alike = sum(one.code == head.code for one in group) - 1
        if alike:
            texts.insert(0, f"{format_count(alike)} more such finding{'' if alike == 1 else 's'}")
        if key.startswith((_UNREACHABLE, _BROKER)):
            texts += self._flows(head, group)
        check = CHECKS.by_id.get(head.code)
        return Cause(
            key=short(key, LONGEST_KEY),
            subject_kind=kind,
            subject=subject,
            check=head.code,
            severity=worst(group),
            title=title_of(kind, subject, place, check.title if check else words_of(head.code)),
            sentence=sentence_of(head, texts),
            todo=head.todo,
            began_at=head.opened_at if key.startswith((_UNREACHABLE, _BROKER)) else _first(group),
            findings=tuple(one.id for one in (head, *(one for one in group if one is not head))),
            effects=effects,
            brokers=(int(subject),) if kind == Area.BROKER else _brokers_of(group),
            cluster=head.cluster,
            flow=head.flow,
            log=head.log,
        )

    def _over(self, back: Recovering, head: OpenFinding, group: list[OpenFinding]) -> Cause:
        effects = effects_of(group)
        return Cause(
            key=back.key,
            subject_kind=Area.CLUSTER if back.broker is None else Area.BROKER,
            subject="" if back.broker is None else str(back.broker),
            check=head.code,
            severity=worst(group),
            title="",
            sentence=f"Remaining: {listed([one.text for one in effects])}.",
            todo="",
            began_at=_first(group),
            findings=tuple(one.id for one in group),
            effects=effects,
            brokers=() if back.broker is None else (back.broker,),
            cluster=back.cluster,
            is_over=True,
        )

    def _place_of(self, head: OpenFinding) -> str:
        if head.flow is not None:
            return self.names.flows.get(head.flow, "")
        if head.log is not None:
            return self.names.logs.get(head.log, "")
        return "" if head.cluster is None else self.names.clusters.get(head.cluster, "")

    def _flows(self, head: OpenFinding, group: list[OpenFinding]) -> list[str]:
        """Say whether flows of the cluster are affected, where that is known."""
        flows = self.names.flows_of.get(head.cluster or 0, frozenset())
        count = len({one.flow for one in group if one.flow is not None})
        if count:
            return [f"{format_count(count)} flow{'' if count == 1 else 's'} affected"]
        is_quiet = not any(one.flow in flows and not _opens_none(one) for one in self.findings)
        return ["flows unaffected"] if flows and is_quiet and head.code == BROKER_DOWN else []


def _since(head: OpenFinding | None, broker: int) -> tuple[float, int]:
    return (float("inf") if head is None else head.opened_at.timestamp()), broker


def _place(one: OpenFinding, key: str) -> tuple[bool, bool, bool, int, datetime, int]:
    """Order findings of a cause, the one that names it first."""
    is_effect, is_other = _own_key(one) != key, one.code != BROKER_DOWN
    return is_effect, is_other, _opens_none(one), -one.severity.rank, one.opened_at, one.id


def _brokers_of(group: list[OpenFinding]) -> tuple[int, ...]:
    return tuple(sorted({broker for one in group for broker in one.brokers}))


def _first(group: list[OpenFinding]) -> datetime:
    return min(one.opened_at for one in group if not _opens_none(one) or len(group) == 1)


def _subject(head: OpenFinding, key: str) -> tuple[str, str]:
    kind, _, rest = key.partition(":")
    if kind in {"streams", "group", "broker"}:
        return kind, short(rest.partition(":")[2], LONGEST_SUBJECT)
    if kind == "crosslog":
        return kind, head.subject
    return ("cluster" if kind == "unreachable" else kind), ""
