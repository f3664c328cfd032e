"""Runbooks: for each severity and cause of an unhealthy partition, steps with commands.

The texts are Markdown files: one for each cause, one for each severity, and one for the common steps. A file
has a heading, a paragraph, and steps: a sentence, its commands, the expected result, and the command that
shows it. `{topic}` and the like are the values of `known`. If a value of the sentence or of the first command
is unknown, the text behind `Otherwise:` replaces the sentence, or the step is left out. `Only:` has the
severities of a step, `Needs:` one more value. Kafka's tools have no folder, address and credentials.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

from jobs.availability.runbooks.kafka_commands import KafkaTools, ids, reassignment_json

_FOLDER = Path(__file__).parent


class Trouble(StrEnum):
    """The words of `Severity`, and RF < min.insync.replicas."""

    UNDER_REPLICATED = "under_replicated"
    AT_MIN_ISR = "at_min_isr"
    UNDER_MIN_ISR = "under_min_isr"
    OFFLINE = "offline"
    RF_BELOW_MIN_ISR = "rf_below_min_isr"


class TroubleCause(StrEnum):
    """The cause; the value is stable, for programs."""

    BROKER_DEAD = "broker_dead"
    BROKER_FENCED = "broker_fenced"
    CONTROLLED_SHUTDOWN = "controlled_shutdown"
    LAGGING_FOLLOWER = "lagging_follower"
    LOG_DIR_OFFLINE = "log_dir_offline"
    REPLICA_THROTTLED = "replica_throttled"
    REASSIGNMENT_IN_PROGRESS = "reassignment_in_progress"
    UNCLEAN_ELECTION = "unclean_election"
    LAST_SITE_LOST = "last_site_lost"
    QUORUM_LOST = "quorum_lost"
    STANDBY_PROMOTED_TOO_LONG = "standby_promoted_too_long"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RunbookFacts:
    """Values for the commands. Empty or None: unknown; a step that needs it has another text.

    `broker` is the affected one; None: the first replica that is not in the ISR. `spares`: live brokers
    without a replica. `observers`: placement observers. `page` is the partition's page. `trouble` and
    `cause` are its current state; None: healthy, or unknown.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    leader: int | None = None
    elr: tuple[int, ...] = ()
    observers: tuple[int, ...] = ()
    spares: tuple[int, ...] = ()
    broker: int | None = None
    min_insync_replicas: int | None = None
    tools: KafkaTools = field(default_factory=KafkaTools)
    page: str = ""
    trouble: Trouble | None = None
    cause: TroubleCause | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """The check of a step: a command, its expected output, and the page that shows the same."""

    command: str
    expect: str
    page: str


@dataclass(frozen=True, slots=True)
class RunbookStep:
    """One step; `commands` are lines of a shell in their order, empty for a manual step."""

    number: int
    sentence: str
    commands: tuple[str, ...]
    check: Check
    is_dangerous: bool

    @property
    def command(self) -> str | None:
        """The commands as one text, None without."""
        return "\n".join(self.commands) or None


@dataclass(frozen=True, slots=True)
class Runbook:
    """The steps for one severity and cause. `summary`: the effect on producers and consumers.

    `applies`: the partition is in this state, with this cause. `actual` is its state if that is another one,
    a sentence; empty if it is this one, or without a partition.
    """

    trouble: Trouble
    cause: TroubleCause
    title: str
    summary: str
    steps: tuple[RunbookStep, ...]
    prevent: str
    topic: str
    partition: int | None
    applies: bool
    actual: str

    @property
    def is_setting(self) -> bool:
        """Whether the state is a matter of configuration, not of a failure with a cause."""
        return is_setting(self.trouble, self.cause)


# Causes of the metadata log's history (the values of its `Cause`), by runbook.
_OF_WORD: Mapping[str, TroubleCause] = {
    "broker_unregistered": TroubleCause.BROKER_DEAD,
    "broker_restarted": TroubleCause.BROKER_DEAD,
    "leader_lost": TroubleCause.BROKER_DEAD,
    "isr_shrink": TroubleCause.LAGGING_FOLLOWER,
    "isr_changed": TroubleCause.LAGGING_FOLLOWER,
    "log_dir_failed": TroubleCause.LOG_DIR_OFFLINE,
    "log_dirs_changed": TroubleCause.LOG_DIR_OFFLINE,
    "reassignment_started": TroubleCause.REASSIGNMENT_IN_PROGRESS,
    "reassignment_changed": TroubleCause.REASSIGNMENT_IN_PROGRESS,
}


def cause_of(word: str) -> TroubleCause:
    """Return the runbook cause of a cause of the metadata log's history, like `isr_shrink`.

    Values of `TroubleCause` are returned unchanged, all others become `UNKNOWN`.
    """
    if word in set(TroubleCause):
        return TroubleCause(word)
    return _OF_WORD.get(word, TroubleCause.UNKNOWN)


def runbook(trouble: Trouble, cause: TroubleCause, facts: RunbookFacts) -> Runbook:
    """Return the steps for this severity and cause, every command filled in and quoted for a shell.

    They start with a check, then come those of the cause and of the severity, and they end with a check.
    """
    every, of_cause, of_trouble = (
        text_of("every"),
        text_of("causes/setting" if is_setting(trouble, cause) else f"causes/{cause}"),
        text_of(f"severities/{trouble}"),
    )
    templates = (every.steps[0], *of_cause.steps, *of_trouble.steps, *every.steps[1:])
    words = known(facts)
    state = _state(trouble, words)
    doubt = "" if facts.trouble is not trouble or facts.cause is cause else "possibly "
    title = f"{'' if facts.trouble is trouble else 'If '}{state}: {doubt}{of_cause.title}"
    return Runbook(
        trouble=trouble,
        cause=cause,
        title=title,
        summary=of_trouble.about,
        steps=tuple(_steps(templates, trouble, facts)),
        prevent=of_cause.about,
        topic=facts.topic if facts.replicas else "",
        partition=facts.partition if facts.replicas else None,
        applies=facts.trouble is trouble and facts.cause is cause,
        actual="" if facts.trouble is trouble or not facts.replicas else _actual(facts),
    )


def is_setting(trouble: Trouble, cause: TroubleCause) -> bool:
    """Return whether the state is a matter of configuration, not of a failure with a cause."""
    return trouble is Trouble.RF_BELOW_MIN_ISR and cause is TroubleCause.UNKNOWN


def _state(trouble: Trouble | None, words: Mapping[str, object]) -> str:
    if trouble is None:
        return f"{words['place']} is healthy"
    return _fill(text_of(f"severities/{trouble}").title, words)


def _actual(facts: RunbookFacts) -> str:
    isr, replicas = (", ".join(map(str, one)) for one in (facts.isr, facts.replicas))
    leader = "none" if facts.leader is None else facts.leader
    state = _state(facts.trouble, known(facts))
    return f"{state}: leader {leader}, ISR {isr or 'empty'} of {replicas}."


@dataclass(frozen=True, slots=True)
class Template:
    """A step as its file has it, without the breaks of its lines."""

    sentence: str
    otherwise: str
    only: tuple[str, ...]
    needs: str
    commands: tuple[str, ...]
    expect: str
    check: str
    is_dangerous: bool


@dataclass(frozen=True, slots=True)
class RunbookText:
    """A file: `about` is the effect of a severity, or the prevention of a cause."""

    title: str
    about: str
    steps: tuple[Template, ...]


_STEP = re.compile(
    r"""1\.\ (?P<dangerous>\*\*Dangerous\.\*\*\ )?(?P<sentence>.+?)\n\n
    (?:\ {3}Otherwise:\ (?P<otherwise>.+?)\n\n)?
    (?:\ {3}Only:\ (?P<only>.+?)\n\n)?
    (?:\ {3}Needs:\ (?P<needs>.+?)\n\n)?
    (?:\ {3}```sh\n(?P<commands>[^`]+)\ {3}```\n\n)?
    \ {3}Expected:\ (?P<expect>.+?)\n\n
    \ {3}```sh\n(?P<check>[^`]+)\ {3}```\n\s*""",
    re.DOTALL | re.VERBOSE,
)
_NAMED = re.compile(r"\{(\w+)\}")
# Known of every partition; a command that names nothing else is shown beside the other words of its step.
_ALWAYS = frozenset({"topic", "partition", "place", "present_replicas"})
# Texts of unknown values in checks.
_IN_GENERAL = {
    "broker": "the broker",
    "sync": "all replicas",
    "preferred": "the first of Replicas",
    "promoted_observer": "the observer",
    "min_insync_replicas": "min.insync.replicas",
}


@cache
def text_of(name: str) -> RunbookText:
    """Return the text of the file `name` beside this module, like `causes/broker_dead`."""
    text = (_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    head, *steps = re.split(r"^(?=1\. )", text, flags=re.MULTILINE)
    title, _, about = head.partition("\n\n")
    return RunbookText(title.removeprefix("# "), _joined(about), tuple(map(_template, steps)))


def _template(text: str) -> Template:
    found = _STEP.fullmatch(text)
    if found is None:
        raise ValueError(f"This step of a runbook has not the form of the others:\n{text}")
    part = {name: value or "" for name, value in found.groupdict().items()}
    return Template(
        sentence=_joined(part["sentence"]),
        otherwise=_joined(part["otherwise"]),
        only=tuple(part["only"].replace(",", " ").split()),
        needs=part["needs"],
        commands=tuple(one.strip() for one in part["commands"].splitlines()),
        expect=_joined(part["expect"]),
        check=part["check"].strip(),
        is_dangerous=bool(part["dangerous"]),
    )


def _joined(text: str) -> str:
    return " ".join(text.split())


def known(facts: RunbookFacts) -> dict[str, object]:
    """Return the values for sentences and commands; None where unknown."""
    missing = [r for r in facts.replicas if r not in facts.isr and r not in facts.observers]
    broker = facts.broker if facts.broker is not None else next(iter(missing), None)
    spare, least = next(iter(facts.spares), None), facts.min_insync_replicas
    can_copy = spare is not None and facts.leader is not None
    replaced = [spare if one == broker else one for one in facts.replicas]
    return {
        "topic": facts.topic,
        "partition": facts.partition,
        "place": f"{facts.topic}-{facts.partition}",
        "sync": ids(r for r in facts.replicas if r not in facts.observers) or None,
        "isr": ids(facts.isr) or None,
        "isr_size": len(facts.isr) or None if least is not None else None,
        "elr": ids(facts.elr) or None,
        "missing": ids(missing) or None,
        "leader": facts.leader,
        "no_leader": "none" if facts.leader is None else None,
        "broker": broker,
        "spare": spare,
        "waiting_observer": next((one for one in facts.observers if one not in facts.isr), None),
        "promoted_observer": next((one for one in facts.observers if one in facts.isr), None),
        "preferred": next(iter(facts.replicas), None),
        "min_insync_replicas": least,
        "rf": len(facts.replicas) or None,
        "one_less_than_rf": max(1, len(facts.replicas) - 1) if facts.replicas else None,
        "present_replicas": _assignment(facts, facts.replicas),
        "spare_added": _assignment(facts, [*facts.replicas, spare]) if can_copy else None,
        "spare_for_broker": _assignment(facts, replaced)
        if can_copy and broker is not None
        else None,
    }


def _assignment(facts: RunbookFacts, replicas: Sequence[int | None]) -> str:
    wanted = [one for one in replicas if one is not None]
    return reassignment_json({(facts.topic, facts.partition): wanted})


def _steps(
    templates: Iterable[Template], trouble: Trouble, facts: RunbookFacts
) -> Iterator[RunbookStep]:
    words, number = known(facts), 0
    in_general = words | {name: said for name, said in _IN_GENERAL.items() if words[name] is None}
    for one in templates:
        is_known = _has_all("".join((one.sentence, *one.commands[:1], one.needs)), words)
        if (one.only and trouble not in one.only) or not (is_known or one.otherwise):
            continue
        of_any = not one.needs and _ALWAYS.issuperset(_NAMED.findall("".join(one.commands)))
        lines = (
            [line for line in one.commands if _has_all(line, words)] if is_known or of_any else []
        )
        number += 1
        yield RunbookStep(
            number=number,
            sentence=_fill(one.sentence, words) if is_known else one.otherwise,
            commands=tuple(_command(line, words, facts.tools) for line in lines),
            check=Check(
                _command(one.check, words, facts.tools),
                _fill(one.expect, in_general),
                facts.page,
            ),
            is_dangerous=one.is_dangerous,
        )


def _has_all(text: str, words: Mapping[str, object]) -> bool:
    return all(words.get(name) is not None for name in _NAMED.findall(text))


def _fill(text: str, words: Mapping[str, object]) -> str:
    """Replace names by values, once: a name inside a value stays as it is."""
    return _NAMED.sub(lambda found: str(words.get(found[1], found[0])), text)


def _command(line: str, words: Mapping[str, object], tools: KafkaTools) -> str:
    """Return a line of a shell, each word with a value in it quoted as one word."""
    filled = [_fill(word, words) for word in line.split()]
    if filled[0].startswith("kafka-"):
        return tools.tool(*filled)
    return " ".join(
        shlex.quote(new) if _NAMED.search(old) else old
        for old, new in zip(line.split(), filled, strict=True)
    )
