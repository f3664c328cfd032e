"""What a plan says around its commands: what to prepare, to know, and what is not good in the end. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.quorum.advisor.commands import Tools
from jobs.quorum.advisor.order import Move, Standing
from jobs.quorum.advisor.plan import QuorumStatus
from jobs.quorum.advisor.state import QuorumState
from jobs.quorum.voters.endpoints import ENDPOINT_TODO, EndpointFault, endpoint_faults
from jobs.quorum.voters.voter_sets import Endpoint, VoterSet

_FEWEST_VOTERS = 3


def prepare(move: Move, before: Standing, state: QuorumState, tools: Tools) -> Iterator[str]:
    """Yield what must be done or true before a step."""
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
    """Yield what a person must know about one step."""
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
    """Yield what is not good about the voters at the end."""
    count = len(after.voters)
    if count < _FEWEST_VOTERS:
        yield f"{count} voters in the end: the loss of one stops the quorum. Three or five are right."
    elif count % 2 == 0:
        yield (
            f"{count} voters in the end, an even number: it tolerates no more failures than {count - 1}, "
            "and needs one voter more for each commit."
        )
    if after.outlook.missing_ids:
        missing = ", ".join(map(str, after.outlook.missing_ids))
        yield f"Voters {missing} are still not alive in the end."
    if after.deadly_sites:
        yield f"In the end the loss of {' or of '.join(after.deadly_sites)} alone stops the quorum."


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
    """Yield what the plan takes for granted because nobody asked."""
    if state.alive_ids is None:
        yield "Which voters are alive was not asked: all are taken for alive."
    if state.kraft_version is None:
        yield "kraft.version is not known: it must be 1 (kafka-features.sh describe)."
    if state.is_change_pending is None:
        yield "Whether the last change of voters is committed is not known: Kafka makes one at a time."
    if state.observers is None:
        yield "Whether new voters have caught up is not known: look before each addition."
