"""The open requests of one question to a cluster, and the time that is left for them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.librdkafka_errors import TransportNotes, error_in, fault_of, is_cluster_wide

_Chunk = TypeVar("_Chunk")

LOOK_S = 0.05
GRACE_S = 1.5
# The request's own timeout comes first; this is the net below it.
NET_S = 0.5


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
        waiting: deque[tuple[_Chunk, Mapping[Any, Future[Any]]]] = deque()
        again: list[_Chunk] = []
        for chunk in chunks:
            if self.ended_by is not None:
                break
            waiting.append((chunk, send(admin, chunk, self._left_s())))
            if len(waiting) >= at_once:
                again += self._settle(admin, *waiting.popleft())
        while waiting:
            again += self._settle(admin, *waiting.popleft())
        return again

    def answers(self) -> dict[Any, Any]:
        """Return what was answered; raises the cluster's fault when there is nothing else."""
        faults = [a for a in self._answers.values() if isinstance(a, ClusterFault)]
        if faults and len(faults) == len(self._answers) and all(map(is_cluster_wide, faults)):
            raise faults[-1]
        return self._answers

    def _settle(
        self, admin: AdminClient, chunk: _Chunk, futures: Mapping[Any, Future[Any]]
    ) -> list[_Chunk]:
        answers = {key: self._answer(admin, future) for key, future in futures.items()}
        self._answers |= answers
        return [chunk] if any(map(_is_worth_asking_again, answers.values())) else []

    def _answer(self, admin: AdminClient, future: Future[Any]) -> Any:
        while not future.done() and self.ended_by is None:
            try:
                future.result(timeout=LOOK_S)
            except TimeoutError:
                admin.poll(0)
                self.ended_by = self._end()
            except KafkaException:
                break
        if not future.done():
            return self.ended_by
        try:
            answer = future.result()
        except KafkaException as error:
            admin.poll(0)
            return fault_of(
                error_in(error), cluster=self.cluster, doing=self.doing, known=self.notes.fault()
            )
        self.notes.forget()
        return answer

    def _left_s(self) -> float:
        return max(self._until_s - (time.monotonic() - self._began), 0.01)

    def _end(self) -> ClusterFault | None:
        """Return the fault that ends the question: no broker left to wait for, or no time."""
        age = time.monotonic() - self._began
        final = self.notes.final_fault()
        if final and (not final.retriable or age > min(GRACE_S, self.budget_s)):
            return final
        if age > self.budget_s + NET_S:
            return self.notes.fault() or TimedOut(
                f"{self.doing}: no answer within {self.budget_s:g} s.", cluster=self.cluster
            )
        return None


def _is_worth_asking_again(answer: Any) -> bool:
    return isinstance(answer, ClusterFault) and is_cluster_wide(answer) and answer.retriable
