"""Safe voter changes: single steps with Kafka's commands, or a refusal with its reason. Pure.

Each step adds or removes one voter, so that every majority before it meets every majority after it, and at
no moment the voters alive are less than a majority. Who is added counts as alive, because Kafka takes only
what has caught up. Source: KIP-853.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobs.quorum.advisor.checks import check_observed, check_state, check_wanted
from jobs.quorum.advisor.commands import Tools
from jobs.quorum.advisor.order import MOST_MOVES, Move, Standing, best_order, first_loss
from jobs.quorum.advisor.plan import (
    ChangePlan,
    DiskReplacement,
    PlanStep,
    QuorumStatus,
    RefusalCode,
    Refused,
    WantedChange,
)
from jobs.quorum.advisor.state import QuorumState
from jobs.quorum.voters.endpoints import ENDPOINT_TODO, EndpointFault, endpoint_faults
from jobs.quorum.voters.majority import deadly_sites, quorum_after
from jobs.quorum.voters.voter_sets import Endpoint, ReplicaKey, VoterSet, moved_directory

_DEAD_FIRST, _ADD, _REMOVE, _LEADER_LAST = range(4)


def plan_change(state: QuorumState, wanted: WantedChange, tools: Tools | None = None) -> ChangePlan:
    """Return the steps from the voters there are to the wanted ones, or why there is no safe way.

    Never raises for what is wanted: a refusal is an answer.
    """
    tools = tools or Tools()
    start = Standing(state.voters, state.alive)
    try:
        check_state(state, tools)
        check_wanted(wanted, state)
        moves = list(_moves(state, wanted))
        order = _order(start, moves)
    except Refused as refused:
        now = _moment(start, state)
        cautions = tuple(endpoint_cautions(state, state.voters))
        return ChangePlan(now, now, refusal=refused.refusal, cautions=cautions)
    steps = tuple(_steps(start, [moves[number] for number in order], state, tools))
    last = steps[-1].after
    return ChangePlan(
        before=steps[0].before,
        after=last,
        steps=steps,
        warnings=tuple(result_warnings(last)),
        notes=tuple(notes_on(state)),
        cautions=tuple(endpoint_cautions(state, *(step.after.voters for step in steps))),
    )


def _moves(state: QuorumState, wanted: WantedChange) -> Iterator[Move]:
    """Yield the moves; a replaced disk is a removal and an addition behind it."""
    number = 0
    for replacement in wanted.replace:
        yield _removal(replacement.id, state)
        yield _return(replacement, state, after=number)
        number += 2
    for id_ in wanted.remove:
        yield _removal(id_, state)
    for node in wanted.add:
        yield Move(node.key, node, preference=_ADD)


def _removal(id_: int, state: QuorumState) -> Move:
    voter = state.voters.node(id_)
    if voter is None:
        raise LookupError(f"{id_} is no voter")
    preference = _REMOVE if id_ in state.alive else _DEAD_FIRST
    return Move(voter.key, preference=_LEADER_LAST if id_ == state.leader_id else preference)


def _return(wanted: DiskReplacement, state: QuorumState, *, after: int) -> Move:
    """Return the addition of a voter with its new disk; what observes under its id already is that disk."""
    voter = state.voters.node(wanted.id)
    if voter is None:
        raise LookupError(f"{wanted.id} is no voter")
    seen = state.observed(ReplicaKey(wanted.id, wanted.new_directory_id))
    directory_id = wanted.new_directory_id or (seen.key.directory_id if seen else None)
    if seen is not None:
        check_observed(seen.key, state)
    node = moved_directory(voter, directory_id)
    return Move(node.key, node, after, _ADD)


def _order(start: Standing, moves: Sequence[Move]) -> list[int]:
    if len(moves) > MOST_MOVES:
        raise Refused(
            RefusalCode.TOO_MANY_CHANGES,
            f"{len(moves)} changes of voters are more than {MOST_MOVES} in one plan.",
            "Split it into several plans, each to an odd number of voters.",
        )
    order = best_order(start, moves)
    if order is None:
        raise _loses(start, moves)
    return order


def _loses(start: Standing, moves: Sequence[Move]) -> Refused:
    found = first_loss(start, moves)
    todo = "Restart the voters that are down, or add others first."
    if found is None:
        return Refused(
            RefusalCode.CONTRADICTION, "These changes cannot be made in any order.", todo
        )
    move, after = found
    outlook = quorum_after(after.voters, after.alive)
    does = "Adding" if move.is_add else "Removing"
    return Refused(
        RefusalCode.LOSES_MAJORITY,
        f"{does} {move.key} would leave {outlook.alive} of {outlook.voters} voters alive, and "
        f"{outlook.majority} are needed: the quorum would stop, and the change could not be committed or "
        "reverted.",
        todo,
    )


def _steps(
    start: Standing, moves: Sequence[Move], state: QuorumState, tools: Tools
) -> Iterator[PlanStep]:
    at = start
    for number, move in enumerate(moves, start=1):
        after = at.after(move)
        if after is None:
            raise LookupError(f"{move.key} cannot be changed")
        yield _step(number, move, (at, after), state, tools)
        at = after


def _step(
    number: int, move: Move, way: tuple[Standing, Standing], state: QuorumState, tools: Tools
) -> PlanStep:
    before, after = way
    moments = _moment(before, state), _moment(after, state)
    stay = before.voters, before.alive & after.alive
    expected = ", ".join(str(voter.key) for voter in after.voters)
    return PlanStep(
        number=number,
        is_add=move.is_add,
        key=move.key,
        sentence=f"{'Add' if move.is_add else 'Remove'} voter {move.key}.",
        prepare=tuple(prepare(move, before, state, tools)),
        command=tools.add(move.key.id, *stay) if move.is_add else tools.remove(move.key, *stay),
        check=tools.describe(*stay, without=move.key.id, what="--status"),
        expect=f"CurrentVoters are {expected}, and MaxFollowerLag is near 0.",
        before=moments[0],
        after=moments[1],
        warnings=tuple(step_warnings(move, moments, state)),
    )


def _moment(at: Standing, state: QuorumState) -> QuorumStatus:
    deadly = deadly_sites(at.voters, state.sites, at.alive)
    return QuorumStatus(at.voters, quorum_after(at.voters, at.alive), deadly)


# Texts of a plan around its commands: preparation, warnings, result. Pure.

_FEWEST_VOTERS = 3


def prepare(move: Move, before: Standing, state: QuorumState, tools: Tools) -> Iterator[str]:
    """Yield the preparation of a step."""
    if not move.is_add:
        yield (
            f"Node {move.key.id} must not run with controller.quorum.auto.join.enable=true: it would "
            "join again at once (KAFKA-19850)."
        )
        return
    id_ = move.key.id
    if move.after is not None:
        yield f"Stop node {id_}, put the new disk in, and format it:"
        yield tools.format(id_)
        yield f"Start node {id_}. It replicates without a vote."
    elif state.observers is None:
        yield f"If node {id_} does not run yet, format it, then start it:"
        yield tools.format(id_)
    yield f"Wait until node {id_} is an observer without lag:"
    alive = before.alive - {id_}
    yield tools.describe(before.voters, alive, without=id_, what="--replication")
    known = f" ({move.key.directory_id})" if move.key.directory_id else ""
    endpoints = ", ".join(map(str, move.node.endpoints)) if move.node else ""
    told = f" and its endpoints {endpoints}" if endpoints else ""
    yield (
        f"Run the next command on node {id_}: it reads the directory id{known}{told} from the "
        "properties that it is given and from meta.properties beside the log. If it says that the node is "
        "not available, the leader has not reached it yet: run it again after some seconds."
    )


def step_warnings(
    move: Move, moments: tuple[QuorumStatus, QuorumStatus], state: QuorumState
) -> Iterator[str]:
    before, after = moments
    if not after.outlook.failures_tolerated and len(after.voters) > 1:
        yield (
            f"After this step all of {', '.join(map(str, after.outlook.alive_ids))} are needed: no further "
            "voter may fail until the next one."
        )
    elif after.outlook.failures_tolerated < before.outlook.failures_tolerated:
        yield (
            f"After this step {after.outlook.failures_tolerated} voters may fail instead of "
            f"{before.outlook.failures_tolerated}."
        )
    if not move.is_add and move.key.id == state.leader_id:
        yield "It is the leader: it resigns when this is committed, and an election of about 3 s follows."
    new = sorted(set(after.deadly_sites) - set(before.deadly_sites))
    if new:
        yield f"After this step the loss of {' or of '.join(new)} alone stops the quorum."


def result_warnings(after: QuorumStatus) -> Iterator[str]:
    """Yield warnings about the voters after the change."""
    count = len(after.voters)
    if count < _FEWEST_VOTERS:
        yield f"{count} voters after the change: the loss of one stops the quorum. Use three or five."
    elif count % 2 == 0:
        yield (
            f"{count} voters after the change, an even number: it tolerates no more failures than "
            f"{count - 1}, and needs one voter more for each commit."
        )
    if after.outlook.missing_ids:
        missing = ", ".join(map(str, after.outlook.missing_ids))
        yield f"Voters {missing} are still down after the change."
    if after.deadly_sites:
        yield f"After the change the loss of {' or of '.join(after.deadly_sites)} alone stops the quorum."


def endpoint_cautions(state: QuorumState, *after: VoterSet) -> Iterator[str]:
    """Yield what is wrong with the endpoints of the voters there are, and of those after each step."""
    faults: dict[tuple[Endpoint, str], set[int]] = {}
    for voters in (state.voters, *after):
        for one in endpoint_faults(voters, state.broker_hosts):
            faults.setdefault((one.endpoint, one.why), set()).update(one.voter_ids)
    for (endpoint, why), ids in faults.items():
        yield EndpointFault(endpoint, tuple(sorted(ids)), why).sentence
    if faults:
        yield f"Without the active controller such voters may elect no leader (KAFKA-20661). {ENDPOINT_TODO}"


def notes_on(state: QuorumState) -> Iterator[str]:
    """Yield the assumptions of the plan."""
    if state.alive_ids is None:
        yield "Which voters are alive is not known: the plan assumes that all are."
    if state.kraft_version is None:
        yield "kraft.version is not known: it must be 1 (kafka-features.sh describe)."
    if state.is_change_pending is None:
        yield "Whether the last change of voters is committed is not known: Kafka makes one at a time."
    if state.observers is None:
        yield "Whether new voters have caught up is not known: look before each addition."
