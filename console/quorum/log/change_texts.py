"""Texts that changes of the metadata log hold, within their limits: values of settings, principals, names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Sum, TextField
from django.db.models.functions import Cast, Length

from console.findings import store
from console.findings.queries import list_findings
from console.quorum.log.change_rows import LONGEST_NAME, ChangeRow
from console.quorum.models import MetadataChange, MetadataLog
from jobs import limits
from jobs.checks.check import check
from jobs.findings import Finding
from jobs.limits import short
from jobs.quorum.health.checks import of
from jobs.quorum.health.codes import LIFE, TEXTS_CUT
from jobs.severity import Severity

# So much text needs no look at what the day has taken.
_LITTLE = 100_000
_AGAIN = timedelta(hours=1)


class TextLimit:
    """Cuts the texts of one portion of changes, and more when those of a day have taken their characters."""

    def __init__(
        self, log: MetadataLog, now: datetime, per_day: int = limits.CHANGES_PER_DAY
    ) -> None:
        self._log, self._now, self._per_day = log, now, per_day
        self._taken = self._cut = 0
        self._left: int | None = None

    def within(self, row: ChangeRow) -> ChangeRow:
        """Return what is stored of a change."""
        state = self._value(row.state, limits.VALUE)
        if self._is_day_full(state):
            state = self._value(state, limits.TEXT)
        return replace(
            row,
            key=short(row.key, LONGEST_NAME),
            name=short(row.name, LONGEST_NAME),
            state=state,
        )

    @check(*of(TEXTS_CUT))
    def tell(self) -> None:
        """Keep a finding that is over, where texts of this portion were cut; at most one in an hour."""
        kept = list_findings(LIFE.kind, log=self._log)
        recent = kept.filter(code=TEXTS_CUT, closed_at__gt=self._now - _AGAIN)
        if not self._cut or recent.exists():
            return
        text = (
            f"At least {self._cut:,} texts of changes were cut: a text has at most {limits.VALUE:,} "
            f"characters, and {limits.TEXT} once the changes of 24 h have {limits.CHANGES_PER_DAY:,}. "
            "The archive has the full records."
        )
        todo = "Find the client that writes such long configs or names."
        evidence = {"texts": self._cut, "next_offset": self._log.next_offset}
        found = Finding(
            TEXTS_CUT,
            Severity.INFO,
            text,
            todo,
            evidence=evidence,
            since=self._now,
            ended=self._now,
        )
        store.save(self._log, LIFE, [found], self._now, {TEXTS_CUT})

    def _is_day_full(self, state: Any) -> bool:
        self._taken += sum(len(one) for one in state.values() if isinstance(one, str))
        if self._taken <= _LITTLE:
            return False
        if self._left is None:
            day = MetadataChange.objects.filter(log=self._log, at__gt=self._now - timedelta(days=1))
            size = Sum(Length(Cast("state", TextField())))
            self._left = self._per_day - (day.aggregate(size=size)["size"] or 0)
        return self._taken > self._left

    def _value(self, value: Any, most: int) -> Any:
        if isinstance(value, str):
            kept = short(value, most)
            self._cut += kept != value
            return kept
        if isinstance(value, Mapping):
            return {name: self._value(one, most) for name, one in value.items()}
        if isinstance(value, list):
            self._cut += len(value) > limits.VALUES
            return [self._value(one, most) for one in value[: limits.VALUES]]
        return value
