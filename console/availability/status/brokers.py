"""Brokers: racks and registrations, from the metadata log, else from the cluster's rounds."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from console.availability.status.broker_models import BrokerStatus, Source
from console.clusters.collection.rows import BATCH, update
from console.clusters.models import Broker, Cluster
from console.quorum import queries as quorum

_FIELDS = (
    "rack", "is_there", "in_controlled_shutdown", "since", "last_fenced_at", "registered_at",
    "incarnation_id", "broker_epoch", "offset", "source",
)  # fmt: skip


class BrokerStatusWriter:
    """The brokers of a cluster; `note` what is new, then `save`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._rows = {row.broker_id: row for row in BrokerStatus.objects.filter(cluster=cluster)}
        self._changed: dict[int, BrokerStatus] = {}
        self._gone: set[int] = set()

    @property
    def ids(self) -> list[int]:
        return sorted(self._rows)

    @property
    def racks(self) -> dict[int, str]:
        return {broker: row.rack for broker, row in self._rows.items() if row.rack}

    def note(self, change: quorum.Change) -> bool:
        """Take in a registration as it became; return whether a rack changed."""
        if change.broker is None:
            return False
        row = self._row(change.broker)
        before, state = row.rack, change.state
        if change.is_removed:
            self._turn(row, change.at, is_there=False)
            self._gone.add(change.broker)
        else:
            self._gone.discard(change.broker)
            row.rack = state.get("rack") or ""
            row.in_controlled_shutdown = bool(state.get("in_controlled_shutdown"))
            self._register(row, change)
            self._turn(row, change.at, is_there=not state.get("is_fenced", True))
        row.offset, row.source = change.offset, Source.LOG
        return row.rack != before

    def see(self, brokers: Iterable[Broker]) -> bool:
        """Take in what a round saw; return whether a rack changed."""
        is_moved = False
        for broker in brokers:
            row = self._rows.get(broker.broker_id) or BrokerStatus()
            if (row.is_there, row.rack) == (broker.is_live, broker.rack) and row.pk:
                continue
            row = self._row(broker.broker_id)
            is_moved = is_moved or row.rack != broker.rack
            row.rack, row.source, row.offset = broker.rack, Source.POLL, None
            self._turn(row, broker.changed_at, is_there=broker.is_live)
        return is_moved

    def save(self) -> None:
        """Write what changed; a broker that was unregistered is forgotten."""
        gone = BrokerStatus.objects.filter(cluster=self._cluster, broker_id__in=self._gone)
        if self._gone:
            gone.delete()
        rows = [row for broker, row in self._changed.items() if broker not in self._gone]
        BrokerStatus.objects.bulk_create([r for r in rows if r.pk is None], batch_size=BATCH)
        known = [row for row in rows if row.pk is not None]
        if known:
            update(BrokerStatus, known, _FIELDS)
        for broker in self._gone:
            self._rows.pop(broker, None)
        self._changed, self._gone = {}, set()

    def _row(self, broker: int) -> BrokerStatus:
        row = self._rows.get(broker)
        if row is None:
            row = BrokerStatus(cluster=self._cluster, broker_id=broker, source=Source.LOG)
            self._rows[broker] = row
        self._changed[broker] = row
        return row

    @staticmethod
    def _register(row: BrokerStatus, change: quorum.Change) -> None:
        state: dict[str, Any] = change.state
        if row.incarnation_id != state.get("incarnation_id"):
            row.registered_at = change.at
        row.incarnation_id = state.get("incarnation_id") or ""
        row.broker_epoch = state.get("broker_epoch")

    @staticmethod
    def _turn(row: BrokerStatus, at: datetime, *, is_there: bool) -> None:
        if row.is_there is is_there:
            return
        row.is_there, row.since = is_there, at
        if not is_there:
            row.last_fenced_at = at
