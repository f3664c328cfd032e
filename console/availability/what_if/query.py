"""Requests of failure simulation, from an address or JSON: steps, point in time, proposed placements.

Steps stand in an address as `lose:rack:west,broker:4;return:broker:4;unclean`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote, urlencode

from console.availability.placements.drafts import at_field
from console.availability.placements.placements import (
    PlacementRules,
    Proposed,
    check_pattern,
    rules_of,
)
from console.availability.promotion.acted_topics import ActedTopics, acted_topics_of
from console.availability.what_if.cluster_models import snapshot_of
from console.availability.what_if.cluster_snapshots import ClusterSnapshot, Recent
from console.availability.what_if.simulation import WhatIfResult, simulate_snapshot
from console.availability.what_if.snapshot_reader import UnknownMoment
from console.clusters.models import Cluster
from jobs.availability.placements.placement import (
    InvalidPlacement,
    check_placement,
    parse_placement,
)
from jobs.availability.what_if.steps import (
    Loss,
    PreferredElection,
    Return,
    Step,
    UncleanElection,
    UnknownTarget,
)
from jobs.cluster.errors import InvalidFields

MOST_STEPS = 20
MOST_TARGETS = 200
LARGEST_ID = 2**31 - 1
LONGEST_RACK = 255
LOSE, RETURN, RETURN_CLEAN = "lose", "return", "return-clean"
UNCLEAN, PREFERRED = "unclean", "preferred"
STEP_VERBS = (LOSE, RETURN, RETURN_CLEAN, UNCLEAN, PREFERRED)
KINDS = ("rack", "broker", "controller")
_FIELDS = {"rack": "racks", "broker": "brokers", "controller": "controllers"}
_ANSWERS: Recent[WhatIfResult] = Recent(4)
LARGEST_MIN_ISR = 2**15
MOST_SITES = 100
# Who keeps observers outside the ISR and promotes them: as on the cluster, or the brokers.
BROKERS = "brokers"
OBSERVERS = ("", BROKERS)
_SITE_FORM = "Enter node=site, separated by blanks: 4=west 5=east."


@dataclass(frozen=True, slots=True)
class WhatIfRequest:
    """A valid request; `sites` are the racks of controllers that are not brokers.

    `brokers_promote`: as if the brokers knew observers and promoted them, as Confluent Server does.
    """

    steps: tuple[Step, ...] = ()
    at: datetime | None = None
    proposed: tuple[Proposed, ...] = ()
    sites: Mapping[int, str] | None = None
    brokers_promote: bool = False


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """The result with its request and snapshot."""

    asked: WhatIfRequest
    snapshot: ClusterSnapshot
    answer: WhatIfResult


def answer_for(cluster: Cluster, asked: WhatIfRequest) -> WhatIfAnswer:
    """Return what the steps do to a cluster; raises `InvalidFields` at the field that is wrong."""
    try:
        snapshot = with_sites(snapshot_of(cluster, asked.at), asked.sites or {})
    except UnknownMoment as problem:
        raise InvalidFields({"at": str(problem)}) from None
    _check_proposed(snapshot, asked.proposed)
    rules, acted = rules_of(cluster, asked.proposed), acted_topics_of(cluster)
    snapshot = replace(snapshot, gaps=(*snapshot.gaps, *rules.problems))
    try:
        return WhatIfAnswer(asked, snapshot, _answer(snapshot, rules, acted, asked))
    except UnknownTarget as unknown:
        raise InvalidFields(step_errors(unknown.problems)) from None


def _answer(
    snapshot: ClusterSnapshot, rules: PlacementRules, acted: ActedTopics, asked: WhatIfRequest
) -> WhatIfResult:
    """Return the answer; that of a kept snapshot is remembered while its pages are looked through."""
    sites = tuple(sorted((asked.sites or {}).items()))
    promote = asked.brokers_promote
    about = (snapshot.digest, rules.key, acted.key, asked.steps, sites, promote)
    return _ANSWERS.get(
        about if snapshot.digest else None,
        lambda: simulate_snapshot(
            snapshot, rules, asked.steps, acted=acted, brokers_promote=promote
        ),
    )


def step_errors(problems: Mapping[str, str]) -> dict[str, str]:
    """Return what is wrong with steps under the name of their field."""
    return {
        path if path.startswith("steps") else f"steps.{path}".rstrip("."): text
        for path, text in problems.items()
    }


def with_sites(snapshot: ClusterSnapshot, sites: Mapping[int, str]) -> ClusterSnapshot:
    """Return the snapshot with the given racks of controllers."""
    unknown = sorted(set(sites) - {one.node_id for one in snapshot.voters})
    if unknown and snapshot.voters:
        raise InvalidFields({"sites": f"{unknown[0]} is no voter of the quorum."})
    voters = [replace(one, rack=sites.get(one.node_id, one.rack)) for one in snapshot.voters]
    return replace(snapshot, voters=voters) if sites else snapshot


def _check_proposed(snapshot: ClusterSnapshot, proposed: Sequence[Proposed]) -> None:
    """Refuse a placement that this cluster cannot hold."""
    racks = snapshot.racks
    for one in proposed:
        if one.placement is None:
            continue
        problems = check_placement(one.placement, racks)
        if problems:
            raise InvalidFields(at_field(problems))


def read_query(given: Mapping[str, Any]) -> WhatIfRequest:
    """Return what an address asks; raises `InvalidFields` naming every field that is wrong.

    Fields: `steps`, `at`, `sites`, `observers` (`brokers` or nothing), and of a proposed placement `kind`,
    `pattern`, `placement` (JSON) and `min_insync_replicas`; all texts.
    """
    errors: dict[str, str] = {}
    steps: list[Step] = []
    try:
        steps = read_steps(str(given.get("steps") or ""))
    except BadStep as bad:
        errors["steps"] = str(bad)
    at = _read_at(str(given.get("at") or ""), errors)
    sites = _read_sites(str(given.get("sites") or ""), errors)
    proposed = read_proposed(given, errors)
    observers = str(given.get("observers") or "")
    if observers not in OBSERVERS:
        errors["observers"] = f"One of {', '.join(OBSERVERS[1:])}, or empty."
    if errors:
        raise InvalidFields(errors)
    proposals = (proposed,) if proposed else ()
    return WhatIfRequest(tuple(steps), at, proposals, sites, observers == BROKERS)


def read_proposed(given: Mapping[str, Any], errors: dict[str, str]) -> Proposed | None:
    """Return the proposed placement, None when none is; what is wrong is added to `errors`."""
    placement, least = given.get("placement"), given.get("min_insync_replicas")
    pattern, kind = str(given.get("pattern") or ""), str(given.get("kind") or "exact")
    if not placement and least in {None, ""}:
        if pattern:
            errors["placement"] = (
                "Enter a placement, or another min.insync.replicas, for these topics."
            )
        return None
    if wrong := check_pattern(kind, pattern):
        errors["pattern"] = wrong
    number = _read_least(least, errors)
    if not placement:
        errors["placement"] = "Enter a placement for this min.insync.replicas."
        return None
    try:
        return Proposed(kind, pattern, parse_placement(placement), number)
    except InvalidPlacement as invalid:
        errors.update(at_field(invalid.problems))
        return None


def query_of(asked: WhatIfRequest, given: Mapping[str, Any]) -> str:
    """Return the short address of the same request."""
    names = ("at", "sites", "observers", "kind", "pattern", "placement", "min_insync_replicas")
    values = {name: str(given[name]) for name in names if given.get(name)}
    if not asked.proposed:
        values.pop("kind", None)
    steps = {"steps": write_steps(asked.steps)} if asked.steps else {}
    return urlencode({**steps, **values}, safe=":;,")


def _read_at(text: str, errors: dict[str, str]) -> datetime | None:
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip())
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        errors["at"] = f"{text!r} is not a time. Example: 2026-11-21T03:04:00Z. Empty: now."
        return None


def _read_sites(text: str, errors: dict[str, str]) -> dict[int, str]:
    found: dict[int, str] = {}
    for word in text.replace(",", " ").split()[: MOST_SITES + 1]:
        number, sign, site = word.partition("=")
        if not (sign and site and number.isascii() and number.isdecimal() and len(number) < 10):  # noqa: PLR2004 - ids have fewer digits
            errors["sites"] = f"{word!r}: {_SITE_FORM}"
            return {}
        found[int(number)] = site
    return found


def _read_least(value: Any, errors: dict[str, str]) -> int | None:
    if value in {None, ""}:
        return None
    text = str(value)
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= LARGEST_MIN_ISR):
        errors["min_insync_replicas"] = f"A number from 1 to {LARGEST_MIN_ISR:,}."
        return None
    return int(text)


class BadStep(ValueError):
    """A step cannot be read; the message is a sentence for people."""


def read_steps(text: str) -> list[Step]:
    """Return the steps of a text, in their order; raises `BadStep`."""
    found = [read_step(part) for part in text.split(";") if part.strip()]
    if len(found) > MOST_STEPS:
        raise BadStep(f"At most {MOST_STEPS} steps.")
    return found


def write_steps(steps: Iterable[Step]) -> str:
    """Return the text of steps: `read_steps` makes equal ones of it."""
    return ";".join(write_step(step) for step in steps)


def read_step(text: str) -> Step:
    """Return the step of a text; raises `BadStep`."""
    verb, _, rest = text.strip().partition(":")
    if verb in {UNCLEAN, PREFERRED}:
        return make_election(verb, rest or None)
    if verb not in STEP_VERBS:
        raise BadStep(f"{text!r} is not a step. Example: lose:rack:west,broker:4.")
    targets = read_targets(rest.split(",") if rest else [])
    return make_step(verb, targets)


def read_targets(items: Iterable[str]) -> dict[str, frozenset[Any]]:
    """Return racks, brokers and controllers of texts like `rack:west`; raises `BadStep`."""
    found: dict[str, set[Any]] = {name: set() for name in _FIELDS.values()}
    for count, item in enumerate(items):
        kind, _, value = item.strip().partition(":")
        if kind not in KINDS or not value or count >= MOST_TARGETS:
            raise BadStep(f"{item!r} is neither rack:NAME nor broker:NUMBER nor controller:NUMBER.")
        found[_FIELDS[kind]].add(unquote(value) if kind == "rack" else _number(item, value))
    return {name: frozenset(values) for name, values in found.items()}


def make_step(verb: str, targets: Mapping[str, frozenset[Any]]) -> Loss | Return:
    """Return a loss or a return with a name for people; raises `BadStep` when it names nothing."""
    if not any(targets.values()):
        raise BadStep("Name at least one rack, broker or controller.")
    name = told(targets)
    if verb == LOSE:
        return Loss(**targets, name=f"Loss of {name}")
    is_clean = verb == RETURN_CLEAN
    return Return(**targets, is_clean=is_clean, name=f"Return of {name}")


def write_step(step: Step) -> str:
    """Return the text of a step: `read_step` makes an equal one of it."""
    if isinstance(step, UncleanElection | PreferredElection):
        verb = UNCLEAN if isinstance(step, UncleanElection) else PREFERRED
        return f"{verb}:{step.topic}" if step.topic else verb
    return f"{_verb(step)}:{','.join(target_texts(step))}"


def target_texts(step: Loss | Return) -> list[str]:
    """Return `rack:west` and the like for everything that a step names."""
    racks = [f"rack:{quote(rack, safe='')}" for rack in sorted(step.racks)]
    brokers = [f"broker:{number}" for number in sorted(step.brokers)]
    return [*racks, *brokers, *(f"controller:{number}" for number in sorted(step.controllers))]


def told(targets: Mapping[str, Iterable[Any]]) -> str:
    """Return what a step names, for people: `rack west, brokers 4 and 5`."""
    parts = [
        _plural(kind, [str(one) for one in sorted(targets.get(field, ()))])
        for kind, field in _FIELDS.items()
        if targets.get(field)
    ]
    return ", ".join(parts)


def _verb(step: Loss | Return) -> str:
    if isinstance(step, Loss):
        return LOSE
    return RETURN_CLEAN if step.is_clean else RETURN


def _number(item: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or int(value) > LARGEST_ID:
        raise BadStep(f"{item!r}: a broker or controller is a number.")
    return int(value)


def _plural(kind: str, names: list[str]) -> str:
    if len(names) == 1:
        return f"{kind} {names[0]}"
    return f"{kind}s {', '.join(names[:-1])} and {names[-1]}"


def make_election(verb: str, topic: str | None) -> UncleanElection | PreferredElection:
    """Return an election with a name for people."""
    kind = UncleanElection if verb == UNCLEAN else PreferredElection
    return kind(topic, name=f"{verb.capitalize()} election of {topic or 'all topics'}")
