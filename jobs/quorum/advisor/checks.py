"""Kafka's own conditions for a voter change, checked beforehand. Pure.

Source: KIP-853; `AddVoterHandler` and `RemoveVoterHandler` of the leader, which would refuse the same with
UNSUPPORTED_VERSION, REQUEST_TIMED_OUT, DUPLICATE_VOTER, VOTER_NOT_FOUND or INVALID_REQUEST.
"""

from __future__ import annotations

from jobs.quorum.advisor.commands import Tools, upgrade_kraft_version
from jobs.quorum.advisor.plan import DiskReplacement, RefusalCode, Refused, WantedChange
from jobs.quorum.advisor.state import Observed, QuorumState
from jobs.quorum.voters.majority import quorum_after
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode

# Kafka itself takes what fetched within the last hour; but who has not for a minute is probably gone:
# a voter that was removed, and other replicas that are gone, are listed for 300 s after their last fetch.
GONE_AFTER_MS = 60_000
# Kafka takes a replica that once caught up; one that is this far behind would hold back every commit.
MOST_LAG_RECORDS = 1_000


def check_state(state: QuorumState, tools: Tools) -> None:
    """Refuse any change while the quorum cannot make one; raises `Refused`."""
    if state.kraft_version == 0:
        raise Refused(
            RefusalCode.STATIC_QUORUM,
            "kraft.version is 0: the voters are configured in controller.quorum.voters of every node, and "
            "Kafka cannot change them at run time.",
            f"Upgrade first (Kafka 4.1 or later on all nodes): {upgrade_kraft_version(tools)}",
        )
    if not state.has_leader:
        raise Refused(
            RefusalCode.NO_LEADER,
            "The quorum has no leader that knows what is committed.",
            "Wait until a leader is elected and has committed its first record, then retry.",
        )
    outlook = quorum_after(state.voters, state.alive)
    if not outlook.has_majority:
        raise Refused(
            RefusalCode.NO_MAJORITY,
            f"Only {outlook.alive} of {outlook.voters} voters are alive: nothing can be committed, so "
            "no voter can be changed.",
            f"Restart {outlook.majority - outlook.alive} of the nodes "
            f"{', '.join(map(str, outlook.missing_ids))} with their disks. To format them again would lose "
            "records that only they have.",
        )
    if state.is_change_pending:
        raise Refused(
            RefusalCode.PENDING_CHANGE,
            "The last change of voters is not committed yet; Kafka makes one at a time.",
            "Wait until the high watermark has passed it. If it does not move, check the voters that lag.",
        )


def check_wanted(wanted: WantedChange, state: QuorumState) -> None:
    """Refuse what contradicts itself or the voters there are; raises `Refused`."""
    if not wanted.ids:
        raise Refused(
            RefusalCode.NOTHING_WANTED,
            "The request names no change.",
            "Name voters to add or remove.",
        )
    double = sorted({id_ for id_ in wanted.ids if wanted.ids.count(id_) > 1})
    if double:
        raise Refused(
            RefusalCode.CONTRADICTION,
            f"Node {double[0]} is named twice.",
            "Name each node once; another disk of a voter is a replacement, not a removal and an addition.",
        )
    for id_ in wanted.remove:
        _check_voter(id_, state)
    for replacement in wanted.replace:
        _check_replacement(replacement, state)
    for node in wanted.add:
        _check_addition(node, state)
    if len(wanted.remove) == len(state.voters) and not wanted.add:
        raise Refused(
            RefusalCode.LAST_VOTER,
            "No voter would be left.",
            "Add the new voters in the same plan, or keep one.",
        )


def _check_voter(id_: int, state: QuorumState) -> None:
    voter = state.voters.node(id_)
    if voter is None:
        raise Refused(
            RefusalCode.NOT_A_VOTER,
            f"Node {id_} is no voter; the voters are {_ids(state)}.",
            "Check the ids with kafka-metadata-quorum.sh describe --status.",
        )
    if voter.directory_id is None:
        raise Refused(
            RefusalCode.NO_DIRECTORY_ID,
            f"The directory id of voter {id_} is not known, and Kafka removes a voter by id and directory.",
            "Ask a Kafka of 3.9 or later for it, or read it in meta.properties on that node.",
        )


def _check_replacement(wanted: DiskReplacement, state: QuorumState) -> None:
    _check_voter(wanted.id, state)
    voter = state.voters.node(wanted.id)
    if voter is not None and voter.directory_id == wanted.new_directory_id:
        raise Refused(
            RefusalCode.SAME_DISK,
            f"Voter {wanted.id} has the directory {wanted.new_directory_id} already.",
            "Format the new disk: it gets an id of its own.",
        )


def _check_addition(node: VoterNode, state: QuorumState) -> None:
    voter = state.voters.node(node.id)
    if voter is not None:
        is_same = node.directory_id in {None, voter.directory_id}
        raise Refused(
            RefusalCode.ALREADY_VOTER,
            f"Node {node.id} is a voter already, with the directory {voter.directory_id}.",
            "There is nothing to do." if is_same else "For a new disk request a replacement.",
        )
    if not node.can_do(1):
        raise Refused(
            RefusalCode.WRONG_VERSION,
            f"Node {node.id} can do kraft.version {node.min_kraft_version} to {node.max_kraft_version} only.",
            "Run Kafka 3.9 or later on it.",
        )
    check_observed(node.key, state)


def check_observed(key: ReplicaKey, state: QuorumState) -> None:
    """Refuse a replica that has not caught up; says nothing where the observers are not known."""
    if state.observers is None:
        return
    seen = state.observed(key)
    if seen is None:
        raise Refused(
            RefusalCode.NOT_OBSERVED,
            f"Node {key} does not replicate the metadata log, so it cannot become a voter.",
            "Format it with --no-initial-controllers, start it, and wait until it has caught up.",
        )
    problem = _behind(seen)
    if problem:
        raise Refused(
            RefusalCode.NOT_CAUGHT_UP,
            f"Node {key} is not caught up: {problem}.",
            "Wait until kafka-metadata-quorum.sh describe --replication shows no lag for it.",
        )


def _behind(seen: Observed) -> str:
    if not seen.has_caught_up:
        return "it has never caught up"
    if seen.last_fetch_age_ms is not None and seen.last_fetch_age_ms > GONE_AFTER_MS:
        return f"it last fetched {seen.last_fetch_age_ms // 1000} s ago"
    if seen.lag_records is not None and seen.lag_records > MOST_LAG_RECORDS:
        return f"it is {seen.lag_records:,} records behind"
    return ""


def _ids(state: QuorumState) -> str:
    return ", ".join(str(id_) for id_ in sorted(state.voters.ids))
