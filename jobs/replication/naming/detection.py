"""Which naming policies explain the names of a cluster's topics, with evidence and how sure that is. Pure.

MirrorMaker 2 leaves names that no other program uses: internal topics with the separator in them, and
heartbeats of other clusters. From these come aliases, and from aliases the remote topics.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.replication.policy import HEARTBEATS

_SYNCS = re.compile(r"mm2-offset-syncs(?P<sep>[._-]+)(?P<alias>.+?)(?P=sep)internal")
_CHECKPOINTS = re.compile(r"(?P<alias>.+?)(?P<sep>[._-]+)checkpoints(?P=sep)internal")
_WORKER = re.compile(r"mm2-(?:offsets|configs|status)\.(?P<alias>.+)\.internal")
_HEARTBEATS = re.compile(rf"(?P<alias>.+?)(?P<sep>[._-]+){HEARTBEATS}")
_ALIAS = re.compile(r"[A-Za-z0-9](?:.*[A-Za-z0-9])?")
_INTERNAL = re.compile(r"__.*|\..*|.*[.-]internal|mm2-.*|.+[._-]checkpoints[._-]+internal")
MOST_EVIDENCE = 5


class Sureness(StrEnum):
    """How sure a guess is: `certain` where MirrorMaker 2's own topics say it, `hint` where names look so."""

    CERTAIN = "certain"
    LIKELY = "likely"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A topic and what it tells."""

    topic: str
    tells: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy that explains names: of which sources, how many remote topics, and why.

    `template` is how it makes the name of a remote topic, as a custom policy writes it.
    `internal_separator` False: internal topics have dots although remote topics have another separator.
    `remote_topics` is 0 for a policy that keeps names: these tell nothing.
    """

    policy: str
    template: str
    separator: str
    internal_separator: bool
    sources: tuple[str, ...]
    remote_topics: int
    sureness: Sureness
    evidence: tuple[Evidence, ...]
    examples: tuple[str, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        """Return the candidate as JSON values."""
        return {
            "policy": self.policy,
            "template": self.template,
            "separator": self.separator,
            "internal_separator": self.internal_separator,
            "sources": list(self.sources),
            "remote_topics": self.remote_topics,
            "examples": list(self.examples),
            "sureness": self.sureness.value,
            "evidence": [{"topic": e.topic, "tells": e.tells} for e in self.evidence],
        }


@dataclass(slots=True)
class _Signs:
    """What the names of internal topics tell: aliases of other clusters, and separators."""

    sources: dict[str, list[Evidence]]
    separators: dict[str, list[Evidence]]
    beats: dict[tuple[str, str], list[Evidence]]


def detect_policies(topics: Iterable[str]) -> list[Candidate]:
    """Return the policies that explain the names of a cluster's topics, the surest first."""
    names = sorted(set(topics))
    signs = _read_signs(names)
    found = [
        _default(signs, separator, aliases, names)
        for separator, aliases in _by_separator(signs, names)
    ]
    explained = {source for candidate in found for source in candidate.sources}
    silent = sorted(signs.sources.keys() - explained)
    behind = {source: separator for source in silent if (separator := _behind(names, source))}
    found += [_custom(signs, source, separator, names) for source, separator in behind.items()]
    silent = [source for source in silent if source not in behind]
    if silent:
        found.append(_identity(signs, silent, names))
    order = list(Sureness)
    return sorted(found, key=lambda c: (order.index(c.sureness), -c.remote_topics, c.separator))


def _read_signs(names: Collection[str]) -> _Signs:
    signs = _Signs(defaultdict(list), defaultdict(list), defaultdict(list))
    for name in names:
        if match := _WORKER.fullmatch(name):
            _note(
                signs.sources,
                match["alias"],
                name,
                "a Connect worker of MirrorMaker 2 copies from {}",
            )
        elif match := _CHECKPOINTS.fullmatch(name):
            _note(signs.sources, match["alias"], name, "groups of {} are translated here")
            _note(signs.separators, match["sep"], name, "internal topics are separated by {!r}")
        elif match := _SYNCS.fullmatch(name):
            _note(signs.separators, match["sep"], name, "internal topics are separated by {!r}")
        elif (match := _HEARTBEATS.fullmatch(name)) and _ALIAS.fullmatch(match["alias"]):
            nearest = match["alias"].split(match["sep"])[0]
            tells = f"heartbeats arrive from {nearest}, separated by {match['sep']!r}"
            signs.beats[nearest, match["sep"]].append(Evidence(name, tells))
    return signs


def _note(found: dict[str, list[Evidence]], key: str, topic: str, tells: str) -> None:
    found[key].append(Evidence(topic, tells.format(key)))


def _by_separator(signs: _Signs, names: Collection[str]) -> list[tuple[str, list[str]]]:
    """Return separators with the sources that they explain: by heartbeats, else by internal topics."""
    found: dict[str, list[str]] = defaultdict(list)
    for alias, separator in signs.beats:
        found[separator].append(alias)
    beating = {alias for alias, _ in signs.beats}
    tried = [*signs.separators, *(s for s in (".", "_", "-") if s not in signs.separators)]
    for alias in signs.sources.keys() - beating:
        for separator in tried:
            if _remote(names, alias, separator):
                found[separator].append(alias)
                break
    return [(separator, sorted(set(aliases))) for separator, aliases in sorted(found.items())]


def _remote(names: Collection[str], alias: str, separator: str) -> list[str]:
    start = f"{alias}{separator}"
    return [n for n in names if n.startswith(start) and n != start and not _INTERNAL.fullmatch(n)]


def _default(
    signs: _Signs, separator: str, aliases: list[str], names: Collection[str]
) -> Candidate:
    remote = [
        name
        for alias in aliases
        for name in _remote(names, alias, separator)
        if not name.endswith(HEARTBEATS)
    ]
    beats = [e for (_, sep), found in signs.beats.items() if sep == separator for e in found]
    own = [e for alias in aliases for e in signs.sources.get(alias, [])]
    internal = signs.separators.get(separator, [])
    others = [s for s in signs.separators if s != separator]
    evidence = (*beats, *own, *internal, *(Evidence(n, "a remote topic") for n in remote[:2]))
    is_certain = bool(own and (beats or remote))
    sureness = (
        Sureness.CERTAIN if is_certain else Sureness.LIKELY if own or internal else Sureness.HINT
    )
    is_identity = bool(own) and bool(beats) and not remote
    return Candidate(
        "identity" if is_identity else "default",
        "{topic}" if is_identity else f"{{source}}{separator}{{topic}}",
        separator,
        not (others == ["."] and not internal),
        tuple(aliases),
        len(remote),
        Sureness.LIKELY if is_identity else sureness,
        evidence[:MOST_EVIDENCE],
        tuple(remote[:MOST_EVIDENCE]),
    )


def _behind(names: Collection[str], alias: str) -> str | None:
    """Return the separator with which topics end in an alias; None when none do."""
    ends = re.compile(rf".+?([._-]+){re.escape(alias)}")
    found = Counter(m[1] for n in names if not _INTERNAL.fullmatch(n) and (m := ends.fullmatch(n)))
    return found.most_common(1)[0][0] if found else None


def _custom(signs: _Signs, source: str, separator: str, names: Collection[str]) -> Candidate:
    end = f"{separator}{source}"
    remote = [n for n in names if n.endswith(end) and n != end and not _INTERNAL.fullmatch(n)]
    tells = f"ends in {source}, which topics of MirrorMaker 2 name as a source"
    own = signs.sources[source][: MOST_EVIDENCE - 1]
    return Candidate(
        "custom",
        f"{{topic}}{separator}{{source}}",
        separator,
        internal_separator=True,
        sources=(source,),
        remote_topics=len(remote),
        sureness=Sureness.HINT,
        evidence=(*own, Evidence(remote[0], tells)),
        examples=tuple(remote[:MOST_EVIDENCE]),
    )


def _identity(signs: _Signs, sources: list[str], names: Collection[str]) -> Candidate:
    separator = next(iter(signs.separators), ".")
    own = [evidence for source in sources for evidence in signs.sources[source]]
    local = [n for n in names if not _INTERNAL.fullmatch(n) and not n.endswith(HEARTBEATS)]
    none = Evidence("", f"no topic begins with {' or '.join(sources)}, so copies keep their names")
    return Candidate(
        "identity",
        "{topic}",
        separator,
        internal_separator=True,
        sources=tuple(sources),
        remote_topics=0,
        sureness=Sureness.LIKELY if local else Sureness.HINT,
        evidence=(*own, none)[:MOST_EVIDENCE],
    )
