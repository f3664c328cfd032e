"""Bring rows in line with what was seen: only what differs is written, in bulk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model

K = TypeVar("K")
M = TypeVar("M", bound=Model)

BATCH = 500


def write_seen(
    model: type[M],
    stored: Mapping[K, M],
    seen: Mapping[K, Mapping[str, Any]],
    make: Callable[[K], M],
    now: datetime,
) -> dict[K, M]:
    """Insert and update rows so that `stored` shows the values of `seen`; return the written ones.

    `make` gives a new row for a key without its values. `changed_at` is set on written rows. Every
    entry of `seen` names the same fields. Rows that were not seen stay: see `remove`.
    """
    written: dict[K, M] = {}
    new: list[M] = []
    changed: list[M] = []
    for key, values in seen.items():
        row = stored.get(key)
        if row is None:
            row = make(key)
            new.append(row)
        elif any(getattr(row, name) != value for name, value in values.items()):
            changed.append(row)
        else:
            continue
        for name, value in values.items():
            setattr(row, name, value)
        row.changed_at = now  # type: ignore[attr-defined]  # every row of this room has it
        written[key] = row
    objects = model._default_manager
    objects.bulk_create(new, batch_size=BATCH)
    if changed:
        fields = [*next(iter(seen.values())), "changed_at"]
        update(model, changed, fields)
    return written


def update(model: type[M], rows: Collection[M], fields: Collection[str]) -> None:
    """Write some fields of existing rows: one upsert per batch, far quicker than `bulk_update`."""
    model._default_manager.bulk_create(
        rows, batch_size=BATCH, update_conflicts=True, unique_fields=["pk"], update_fields=fields
    )


def remove(model: type[Model], rows: Collection[Model]) -> None:
    """Delete rows that a successful round did not see any more."""
    keys = [row.pk for row in rows]
    for start in range(0, len(keys), BATCH):
        model._default_manager.filter(pk__in=keys[start : start + BATCH]).delete()
