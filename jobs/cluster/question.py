"""The open requests of one question to a cluster, and the time that is left for them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.librdkafka_errors import TransportNotes, error_in, fault_of, is_cluster_wide

_Chunk = TypeVar("_Chunk")

LOOK_S = 0.05
GRACE_S = 1.5
PATIENCE_S = 2.0
# The request's own timeout comes first; this is the net below it.
NET_S = 0.5


@dataclass(slots=True)
class _Request:
    """A request on its way: the chunk it is for, a future per key, and when it was sent."""

    chunk: Any
    futures: Mapping[Any, Future[Any]]
    sent_s: float


class Question:
    """One question with one budget, however many requests and attempts it takes."""

    def __init__(self, budget_s: float, doing: str, cluster: str, notes: TransportNotes) -> None:
        self.budget_s = budget_s
        self.doing = doing
        self.cluster = cluster
        self.notes = notes
        self.ended_by: ClusterFault | None = None
        self._began = time.monotonic()
        self._until_s = budget_s
        self._answers: dict[Any, Any] = {}

    def attempt(
        self,
        admin: AdminClient,
        chunks: Iterable[_Chunk],
        send: Callable[[AdminClient, _Chunk, float], Mapping[Any, Future[Any]]],
        share: float,
        at_once: int,
    ) -> list[_Chunk]:
        """Send every chunk and wait until `share` of the budget is used; return those to ask again."""
        self._until_s = self.budget_s * share
        waiting: deque[_Request] = deque()
        late: list[_Request] = []
        for chunk in chunks:
            if self.ended_by is not None:
                break
            waiting.append(_Request(chunk, send(admin, chunk, self._left_s()), self._age_s()))
            if len(waiting) >= at_once:
                oldest = waiting.popleft()
                # A broker that hangs must not keep the requests to the others from being sent.
                self._wait(admin, oldest, until_s=oldest.sent_s + PATIENCE_S)
                late.append(oldest)
        return [r.chunk for r in (*late, *waiting) if self._is_worth_asking_again(admin, r)]

    def answers(self) -> dict[Any, Any]:
        """Return what was answered; raises the cluster's fault when there is nothing else."""
        faults = [a for a in self._answers.values() if isinstance(a, ClusterFault)]
        if faults and len(faults) == len(self._answers) and all(map(is_cluster_wide, faults)):
            raise faults[-1]
        return self._answers

    def _is_worth_asking_again(self, admin: AdminClient, request: _Request) -> bool:
        """Take the answers of a request; return whether another broker might give better ones."""
        self._wait(admin, request, until_s=None)
        answers = {key: self._answer(admin, future) for key, future in request.futures.items()}
        self._answers |= answers
        faults = [a for a in answers.values() if isinstance(a, ClusterFault)]
        return any(fault.retriable and is_cluster_wide(fault) for fault in faults)

    def _wait(self, admin: AdminClient, request: _Request, *, until_s: float | None) -> None:
        """Wait until a request is answered, the attempt or the question ends, or it is `until_s` old."""
        # A request may have no timeout of its own: see `ClusterClient.ask_all`.
        over_s = self._until_s + NET_S
        for future in request.futures.values():
            while not future.done() and self.ended_by is None:
                if self._age_s() > (over_s if until_s is None else until_s):
                    return
                self._look(admin, future)

    def _look(self, admin: AdminClient, future: Future[Any]) -> None:
        try:
            future.exception(timeout=LOOK_S)
        except TimeoutError:
            admin.poll(0)
            self.ended_by = self._end()

    def _answer(self, admin: AdminClient, future: Future[Any]) -> Any:
        if not future.done():
            return self.ended_by or self._no_answer()
        try:
            answer = future.result()
        except KafkaException as error:
            admin.poll(0)
            return fault_of(
                error_in(error), cluster=self.cluster, doing=self.doing, known=self.notes.fault()
            )
        self.notes.forget()
        return answer

    def _age_s(self) -> float:
        return time.monotonic() - self._began

    def _left_s(self) -> float:
        return max(self._until_s - self._age_s(), 0.01)

    def _end(self) -> ClusterFault | None:
        """Return the fault that ends the question: no broker left to wait for, or no time."""
        final = self.notes.final_fault()
        if final and (not final.retriable or self._age_s() > min(GRACE_S, self.budget_s)):
            return final
        if self._age_s() > self.budget_s + NET_S:
            return self._no_answer()
        return None

    def _no_answer(self) -> ClusterFault:
        return self.notes.fault() or TimedOut(
            f"{self.doing}: no answer within {self.budget_s:g} s.", cluster=self.cluster
        )
