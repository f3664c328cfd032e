"""Promotions in a folder: for loops of one machine, or of several on a file system with working locks.

`promotions.json` holds the whole state and is replaced as a whole, under a lock; `events.jsonl` is appended
to. The state carries an id: an empty folder where a disk was mounted is not the store that a loop knows.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from jobs.availability.acting.standby.promotions import (
    HeldPromotion,
    Lease,
    LoopHeartbeat,
    Phase,
    PromotionEvent,
    StoreAway,
    StoreState,
)
from jobs.availability.acting.standby.store_rules import (
    begun,
    lease_after,
    lease_given_back,
    moved,
    with_promotion,
    with_sign,
)
from jobs.json_text import BadJson, fault_of, parse_json

STATE, EVENTS, ENDED, LOCK = "promotions.json", "events.jsonl", "ended.jsonl", "lock"
_FORMAT = 1
# Loops ask again in a moment, and are late with a heartbeat if they wait; a person's order is worth a wait.
_LOCK_S, _PATIENT_S = 0.8, 10.0
_TRY_S = 0.01
_LARGEST_BYTES = 16 << 20


class FolderStore:
    """A `PromotionStore` below a folder, which is made when it is missing at first.

    All problems with the folder are `StoreAway`: a missing disk, no right to write, content that is no state,
    and, once a state was seen, none or another one in its place. An empty store would say that nobody is
    promoted, and the loops would let brokers be fenced.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known_id: str | None = None  # of the state; None: none was seen yet

    def read(self) -> StoreState:
        """See `PromotionStore.read`."""
        with _away(self.folder):
            return self._load()

    def take_lease(self, holder: str, now_ms: int, lasts_ms: int) -> Lease | None:
        """See `PromotionStore.take_lease`."""
        with self._locked() as state:
            lease = lease_after(state.lease, holder, now_ms, lasts_ms)
            if lease is not None:
                self._save(replace(state, lease=lease))
            return lease

    def release_lease(self, lease: Lease) -> None:
        """See `PromotionStore.release_lease`."""
        with self._locked() as state:
            self._save(replace(state, lease=lease_given_back(state.lease, lease)))

    def begin(self, promotion: HeldPromotion, lease: Lease | None = None) -> bool:
        """See `PromotionStore.begin`."""
        with self._locked(_PATIENT_S if lease is None else _LOCK_S) as state:
            after = begun(state, promotion, lease)
            if after is not None:
                self._save(after)
            return after is not None

    def move(
        self,
        promotion_id: str,
        generation: int,
        phase: Phase,
        now_ms: int,
        *,
        why: str = "",
        lease: Lease | None = None,
    ) -> bool:
        """See `PromotionStore.move`."""
        with self._locked(_PATIENT_S if lease is None else _LOCK_S) as state:
            after = moved(state, promotion_id, generation, phase, now_ms, why=why, lease=lease)
            if after is None:
                return False
            if phase is Phase.ENDED:
                self._append(ENDED, asdict(after))
            self._save(with_promotion(state, after))
            return True

    def sign(self, sign: LoopHeartbeat) -> None:
        """See `PromotionStore.sign`."""
        with self._locked() as state:
            self._save(with_sign(state, sign))

    def record(self, event: PromotionEvent) -> None:
        """See `PromotionStore.record`."""
        with self._locked():
            self._append(EVENTS, asdict(event))

    def stop(self, *, is_stopped: bool) -> None:
        """See `PromotionStore.stop`."""
        with self._locked(_PATIENT_S) as state:
            self._save(replace(state, is_stopped=is_stopped))

    def events(self) -> list[PromotionEvent]:
        """Return all events in their order; a last line that was cut off is left out."""
        with _away(self.folder):
            path = self.folder / EVENTS
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        found = []
        for line in lines:
            try:
                found.append(PromotionEvent(**json.loads(line)))
            except (ValueError, TypeError):
                continue
        return found

    @contextmanager
    def _locked(self, within_s: float = _LOCK_S) -> Iterator[StoreState]:
        """Hold the lock and give the state; whoever holds it may replace the state."""
        with _away(self.folder):
            if self._known_id is None:
                self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / LOCK).open("a") as lock:
                _lock(lock.fileno(), self.folder, within_s)
                yield self._load()

    def _load(self) -> StoreState:
        path = self.folder / STATE
        try:
            with path.open("rb") as file:
                content = file.read(_LARGEST_BYTES)
        except FileNotFoundError:
            if self._known_id is None:
                return StoreState()
            raise
        document = parse_json(content)
        self._know(document["id"])
        return _state(document)

    def _know(self, found_id: str) -> None:
        if self._known_id not in (None, found_id):
            raise StoreAway(
                f"The folder {self.folder} holds another store than before. Bring the right one back, or "
                "start the loop again to go on with this one."
            )
        self._known_id = found_id

    def _save(self, state: StoreState) -> None:
        written = self.folder / f"{STATE}.{os.getpid()}.part"
        state_id = self._known_id or uuid.uuid4().hex
        document = {"format": _FORMAT, "id": state_id, **asdict(state)}
        with written.open("w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        written.replace(self.folder / STATE)
        # Not before: another thread that reads meanwhile would miss it.
        self._known_id = state_id

    def _append(self, name: str, values: dict[str, Any]) -> None:
        with (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")


@contextmanager
def _away(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreAway(f"The folder {folder} cannot be used: {error.strerror or error}.") from None
    except (KeyError, TypeError, BadJson) as error:
        raise StoreAway(f"{folder / STATE} is no state of promotions: {fault_of(error)}.") from None


def _lock(descriptor: int, folder: Path, within_s: float) -> None:
    end = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise StoreAway(f"{folder} is locked by another program.") from None
            time.sleep(_TRY_S)
        else:
            return


def _state(values: dict[str, Any]) -> StoreState:
    lease = values["lease"]
    return StoreState(
        tuple(_promotion(one) for one in values["promotions"]),
        tuple(LoopHeartbeat(**one) for one in values["signs"]),
        None if lease is None else Lease(**lease),
        bool(values["is_stopped"]),
    )


def _promotion(values: dict[str, Any]) -> HeldPromotion:
    return HeldPromotion(
        **{**values, "phase": Phase(values["phase"]), "topics": tuple(values["topics"])}
    )
