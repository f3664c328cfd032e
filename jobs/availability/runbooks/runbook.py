"""What to do at 03:12: for each severity and cause of a partition's trouble, steps with commands. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from jobs.availability.runbooks.commands import NEEDS, check, commands, known
from jobs.availability.runbooks.model import (
    Check,
    Runbook,
    RunbookFacts,
    RunbookStep,
    Trouble,
    TroubleCause,
)
from jobs.availability.runbooks.steps import (
    DONE,
    LEAD_AGAIN,
    LOOK,
    OF_CAUSE,
    OF_TROUBLE,
    StepTemplate,
)

__all__ = [
    "Check",
    "Runbook",
    "RunbookFacts",
    "RunbookStep",
    "Trouble",
    "TroubleCause",
    "cause_of",
    "runbook",
    "runbooks",
]

_NAMED = re.compile(r"\{(\w+)\}")

_TITLES: Mapping[Trouble, str] = {
    Trouble.UNDER_REPLICATED: "{place} is under-replicated",
    Trouble.AT_MIN_ISR: "{place} is at min ISR",
    Trouble.UNDER_MIN_ISR: "{place} is under min ISR",
    Trouble.OFFLINE: "{place} has no leader",
    Trouble.RF_BELOW_MIN_ISR: "{place} has fewer replicas than min.insync.replicas",
}
_SUMMARIES: Mapping[Trouble, str] = {
    Trouble.UNDER_REPLICATED: "Reads and writes go on; a copy is missing.",
    Trouble.AT_MIN_ISR: "Reads and writes go on; the next loss of an in-sync replica stops writes "
    "with acks=all.",
    Trouble.UNDER_MIN_ISR: "Writes with acks=all are refused (NOT_ENOUGH_REPLICAS); reads go on "
    "up to the high watermark, which stands still.",
    Trouble.OFFLINE: "Nobody can read or write this partition.",
    Trouble.RF_BELOW_MIN_ISR: "Every replica is needed for writes with acks=all: the loss of any "
    "one stops them.",
}
_CAUSES: Mapping[TroubleCause, tuple[str, str]] = {
    TroubleCause.BROKER_DEAD: (
        "a broker is dead",
        "Watch disks and memory; three replicas in three racks bear the loss of one without a person.",
    ),
    TroubleCause.BROKER_FENCED: (
        "a broker is fenced",
        "Keep brokers near their controllers; alert on long pauses of the JVM.",
    ),
    TroubleCause.CONTROLLED_SHUTDOWN: (
        "a broker was shut down in order",
        "Restart one broker at a time, and the next one only when nothing is under-replicated.",
    ),
    TroubleCause.LAGGING_FOLLOWER: (
        "a follower lags",
        "Give followers as much disk and network as leaders; raise num.replica.fetchers where the "
        "network is far.",
    ),
    TroubleCause.LOG_DIR_OFFLINE: (
        "a log directory is offline",
        "Watch the disks; with several log directories only those of the dead disk are lost.",
    ),
    TroubleCause.REPLICA_THROTTLED: (
        "a replica is throttled",
        "End each reassignment with --verify: it lifts the throttle.",
    ),
    TroubleCause.REASSIGNMENT_IN_PROGRESS: (
        "a reassignment is in progress",
        "Reassign few partitions at a time, with a throttle that leaves room for the traffic.",
    ),
    TroubleCause.UNCLEAN_ELECTION: (
        "an unclean election was made",
        "Keep unclean.leader.election.enable=false, and min.insync.replicas above the replicas of one site.",
    ),
    TroubleCause.LAST_SITE_LOST: (
        "the site with all in-sync replicas is lost",
        "Set min.insync.replicas above the sync replicas of any one site (see the designer).",
    ),
    TroubleCause.QUORUM_LOST: (
        "the quorum has no majority",
        "Put the voters into three sites, two and two and one: no site alone holds the majority.",
    ),
    TroubleCause.STANDBY_PROMOTED_TOO_LONG: (
        "an observer is in the ISR for long",
        "Let the policy demote it by itself when the sync replicas are back.",
    ),
    TroubleCause.UNKNOWN: (
        "the cause is not known",
        "Let crosslog follow the metadata log: then each change has its cause.",
    ),
}
# Words of the metadata log's history (the values of its `Cause`), by what is to be done about them.
_OF_WORD: Mapping[str, TroubleCause] = {
    "broker_fenced": TroubleCause.BROKER_FENCED,
    "broker_unregistered": TroubleCause.BROKER_DEAD,
    "broker_restarted": TroubleCause.BROKER_DEAD,
    "leader_lost": TroubleCause.BROKER_DEAD,
    "controlled_shutdown": TroubleCause.CONTROLLED_SHUTDOWN,
    "isr_shrink": TroubleCause.LAGGING_FOLLOWER,
    "isr_changed": TroubleCause.LAGGING_FOLLOWER,
    "log_dir_failed": TroubleCause.LOG_DIR_OFFLINE,
    "log_dirs_changed": TroubleCause.LOG_DIR_OFFLINE,
    "reassignment_started": TroubleCause.REASSIGNMENT_IN_PROGRESS,
    "reassignment_changed": TroubleCause.REASSIGNMENT_IN_PROGRESS,
    "unclean_election": TroubleCause.UNCLEAN_ELECTION,
}


def runbook(trouble: Trouble, cause: TroubleCause, facts: RunbookFacts) -> Runbook:
    """Return the steps for this trouble with this cause, every command filled in and quoted for a shell.

    They begin with a look, go on with the cause, then with what the severity asks for, and end with a look.
    """
    return Runbook(
        trouble=trouble,
        cause=cause,
        title=_title(trouble, cause, facts),
        summary=_SUMMARIES[trouble],
        steps=tuple(_numbered(trouble, cause, facts)),
        prevent=_CAUSES[cause][1],
        topic=facts.topic if facts.replicas else "",
        partition=facts.partition if facts.replicas else None,
        applies=facts.trouble is trouble and facts.cause is cause,
        actual="" if facts.trouble is trouble or not facts.replicas else _actual(facts),
    )


def _title(trouble: Trouble, cause: TroubleCause, facts: RunbookFacts) -> str:
    """Return state and cause; what was not seen is said with an if."""
    state, because = _TITLES[trouble].format(**known(facts)), _CAUSES[cause][0]
    if facts.trouble is not trouble:
        return f"If {state} because {because}"
    return f"{state}: {because}" if facts.cause is cause else f"{state}: if {because}"


def _actual(facts: RunbookFacts) -> str:
    words = known(facts)
    state = f"{words['place']} is healthy"
    if facts.trouble is not None:
        state = _TITLES[facts.trouble].format(**words)
    isr, replicas = (", ".join(map(str, one)) for one in (facts.isr, facts.replicas))
    leader = "none" if facts.leader is None else facts.leader
    return f"{state}: leader {leader}, ISR {isr or 'empty'} of {replicas}."


def runbooks(facts: RunbookFacts) -> tuple[Runbook, ...]:
    """Return all of them, each trouble with each cause: the catalogue."""
    return tuple(runbook(trouble, cause, facts) for trouble in Trouble for cause in TroubleCause)


def cause_of(word: str) -> TroubleCause:
    """Return the cause that a word of the metadata log's history stands for, like `isr_shrink`.

    The words of `TroubleCause` stand for themselves, all others for `UNKNOWN`.
    """
    if word in set(TroubleCause):
        return TroubleCause(word)
    return _OF_WORD.get(word, TroubleCause.UNKNOWN)


def _numbered(trouble: Trouble, cause: TroubleCause, facts: RunbookFacts) -> Iterator[RunbookStep]:
    number = 0
    for template in _templates(trouble, cause):
        step = _filled(template, facts, number + 1)
        if step is not None:
            number += 1
            yield step


def _templates(trouble: Trouble, cause: TroubleCause) -> Iterator[StepTemplate]:
    yield LOOK
    yield from (one for one in OF_CAUSE[cause] if trouble in one.troubles)
    yield from OF_TROUBLE[trouble]
    yield LEAD_AGAIN
    yield DONE


def _filled(template: StepTemplate, facts: RunbookFacts, number: int) -> RunbookStep | None:
    """Return a step, in its other words where a fact is missing, or None where it has none."""
    words = known(facts)
    needed = {*_NAMED.findall(template.sentence), *NEEDS.get(template.ask, ())}
    is_known = all(words[name] is not None for name in needed)
    if not is_known and not template.otherwise:
        return None
    return RunbookStep(
        number=number,
        sentence=template.sentence.format(**words) if is_known else template.otherwise,
        commands=commands(template.ask, facts) if is_known or template.ask not in NEEDS else (),
        check=check(template.see, facts),
        is_dangerous=template.is_dangerous,
    )
