"""Titles, sentences and effects of causes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC

from jobs.checks.check import CHECKS, Area, effect_of
from jobs.checks.open_findings import BROKER_DOWN, Effect, OpenFinding
from jobs.limits import short
from jobs.numbers import format_count
from jobs.severity import Severity

LONGEST_KEY, LONGEST_SUBJECT = 700, 600
_MOST_EFFECTS = 6


def worst(group: Iterable[OpenFinding]) -> Severity:
    return max((one.severity for one in group), key=lambda one: one.rank)


_TITLES = {
    "cluster": "Cluster {place}",
    "broker": "Broker {subject} of {place}",
    "partitions": "Partitions of {place}",
    "quorum": "Quorum of {place}",
    "observers": "Observers of {place}",
    "flow": "Flow {place}",
    "group": "Group {subject} of {place}",
    "streams": "Streams application {subject} of {place}",
    "crosslog": "crosslog ({subject})",
}


def title_of(kind: str, subject: str, place: str, check: str) -> str:
    """Return where and what: "Broker 3 of east down", "Flow orders: Lag above target"."""
    named = subject or (place if kind == "crosslog" else "(no id)")
    where = _TITLES[kind].format(subject=named, place=place)
    noun, _, word = check.partition(" ")
    if noun == where.partition(" ")[0] and word.isalpha():
        return short(f"{where} {word}", LONGEST_KEY)
    return short(f"{where}: {check}", LONGEST_KEY)


def words_of(code: str) -> str:
    return code.replace("_", " ").replace("-", " ").capitalize()


def sentence_of(head: OpenFinding, texts: list[str]) -> str:
    """Return the sentence of a cause with its effects, behind the first sentence of a broker's."""
    first, more = head.sentence, ""
    if head.kind != "checks" and head.subject.casefold() not in first.casefold():
        first = f"{head.subject}: {first}"
    if head.code == BROKER_DOWN:
        first, _, more = first.partition(". ")
        if " since " not in first:
            since = head.opened_at.astimezone(UTC)
            first = f"{first.removesuffix('.')} since {since:%H:%M:%S} UTC"
    joint = "; " if ": " in first else ": "
    effects = f"{joint}{listed(texts)}" if texts else ""
    return f"{first.removesuffix('.')}{effects}.{' ' if more else ''}{more}"


def listed(texts: list[str]) -> str:
    more = len(texts) - _MOST_EFFECTS
    return ", ".join([*texts[:_MOST_EFFECTS], *([f"{more} more effects"] if more > 0 else [])])


def is_of_flows(effect: Effect, group: list[OpenFinding]) -> bool:
    return any(one.flow is not None for one in group if one.code == effect.check)


def effects_of(group: Iterable[OpenFinding]) -> tuple[Effect, ...]:
    by_check: dict[str, list[OpenFinding]] = {}
    for one in group:
        by_check.setdefault(one.code, []).append(one)
    # Partitions first: writes and reads fail there.
    areas = [Area.PARTITION, *(one for one in Area if one is not Area.PARTITION)]

    registered = {code: number for number, code in enumerate(CHECKS.by_id)}

    def place(code: str) -> tuple[int, int, int, str]:
        check = CHECKS.by_id.get(code)
        area = areas.index(check.area) if check else len(areas)
        return area, -worst(by_check[code]).rank, registered.get(code, len(registered)), code

    codes = sorted(by_check, key=place)
    return tuple(
        Effect(code, _effect(code, by_check[code], is_first=code == codes[0]), len(by_check[code]))
        for code in codes
    )


_PARTITIONS = "{partitions} "


def _effect(code: str, alike: list[OpenFinding], *, is_first: bool) -> str:
    """Return how findings of one check are counted: their partitions summed, else the findings.

    The first count of a sentence has its noun.
    """
    check = CHECKS.by_id.get(code)
    counts = [one.evidence.get("partitions") for one in alike]
    numbers = [count for count in counts if isinstance(count, int)]
    if len(numbers) == len(alike):
        count = format_count(sum(numbers))
        if is_first and check and check.effect.startswith(_PARTITIONS):
            noun = "partition" if count == "1" else "partitions"
            said = check.effect.removeprefix(_PARTITIONS).removeprefix("partitions ")
            return f"{count} {noun} {said}"
        merged = {**alike[0].evidence, "partitions": count, "findings": len(alike)}
        return _lowered(effect_of(check, merged) or words_of(code))
    texts = {
        _lowered(effect_of(check, {**one.evidence, "findings": len(alike)}) or words_of(code)): None
        for one in alike[: _MOST_EFFECTS + 1]
    }
    first = next(iter(texts))
    if len(alike) == 1:
        return first
    if len(texts) == 1:
        return f"{format_count(len(alike))} \N{MULTIPLICATION SIGN} {first}"
    return f"{first} and {format_count(len(alike) - 1)} more"


def _lowered(text: str) -> str:
    """Return a text without its capital, unless that belongs to an abbreviation or a name."""
    return text if text[1:2].isupper() or " " not in text else text[:1].lower() + text[1:]
