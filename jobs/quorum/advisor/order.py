"""In which order voters are added and removed so that the quorum stays as safe as it can. Pure.

Each move is one record of Kafka: it takes effect when it is appended, and is committed by a majority of the
*new* set. So a move is possible while the voters alive are a majority before and after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.quorum.voters.majority import quorum_after
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode, VoterSet

# All orders are tried through their subsets: 2^12 of them.
MOST_MOVES = 12


@dataclass(frozen=True, slots=True)
class Move:
    """One voter added (`node`) or removed (`key` alone); `after`: the number of a move before it."""

    key: ReplicaKey
    node: VoterNode | None = None
    after: int | None = None
    # Among orders that are equally safe, lower ones come first.
    preference: int = 0

    @property
    def is_add(self) -> bool:
        """Whether it adds a voter."""
        return self.node is not None

    def apply(self, voters: VoterSet) -> VoterSet | None:
        """Return the set after it; None when Kafka would refuse it."""
        return voters.remove_voter(self.key) if self.node is None else voters.add_voter(self.node)


@dataclass(frozen=True, slots=True)
class Standing:
    """A voter set on the way, and who of it is alive."""

    voters: VoterSet
    alive: frozenset[int]

    @property
    def margin(self) -> int:
        """How many voters may fail; negative without a majority."""
        return len(self.alive) - quorum_after(self.voters, self.alive).majority

    def after(self, move: Move) -> Standing | None:
        """Return where a move leads; None when Kafka refuses it. Who is added is alive: it has caught up."""
        voters = move.apply(self.voters)
        if voters is None:
            return None
        alive = self.alive | {move.key.id} if move.is_add else self.alive - {move.key.id}
        return Standing(voters, alive)


def best_order(start: Standing, moves: Sequence[Move]) -> list[int] | None:
    """Return the numbers of the moves in the safest order; None when every order loses the majority.

    Safest: the smallest number of failures tolerated on the way is as large as possible, then their sum, then
    preference. Raises ValueError for more than twelve moves.
    """
    if len(moves) > MOST_MOVES:
        raise ValueError(f"{len(moves)} changes are more than {MOST_MOVES} at once")
    if start.margin < 0:
        return None
    best: dict[int, _Way] = {0: _Way(start.margin, 0, (), (), start)}
    for done in range(1 << len(moves)):
        way = best.get(done)
        for number, move in enumerate(moves) if way else ():
            further = None if way is None else _go(way, done, number, move)
            into = done | 1 << number
            if further is not None and (into not in best or further.rank > best[into].rank):
                best[into] = further
    whole = best.get((1 << len(moves)) - 1)
    return None if whole is None else list(whole.order)


def first_loss(start: Standing, moves: Sequence[Move]) -> tuple[Move, Standing] | None:
    """Return the move that cannot be made, whatever was done before it, and the standing it would lead to."""
    at, left = start, list(range(len(moves)))
    while True:
        ready = [n for n in left if moves[n].after is None or moves[n].after not in left]
        afters = ((n, at.after(moves[n])) for n in ready)
        ways = [(one.margin, -moves[n].preference, n, one) for n, one in afters if one is not None]
        if not ways:
            return None
        margin, _, number, after = max(ways, key=lambda way: way[:3])
        if margin < 0:
            return moves[number], after
        at = after
        left.remove(number)


@dataclass(frozen=True, slots=True)
class _Way:
    """An order of some of the moves: the worst margin on it, the sum of all, and where it led."""

    worst: int
    total: int
    preferences: tuple[int, ...]
    order: tuple[int, ...]
    at: Standing

    @property
    def rank(self) -> tuple[int, int, tuple[int, ...]]:
        """The larger the better."""
        return self.worst, self.total, self.preferences


def _go(way: _Way, done: int, number: int, move: Move) -> _Way | None:
    is_ready = move.after is None or done & 1 << move.after
    if done & 1 << number or not is_ready:
        return None
    at = way.at.after(move)
    if at is None or at.margin < 0:
        return None
    return _Way(
        min(way.worst, at.margin),
        way.total + at.margin,
        (*way.preferences, -move.preference),
        (*way.order, number),
        at,
    )
