"""Bring rows in line with what was seen: only what differs is written, in bulk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field, Model

K = TypeVar("K")
M = TypeVar("M", bound=Model)

BATCH = 500
# What both databases take as it is, by the kind of the field; a subclass such as an enum counts.
_PLAIN: Mapping[str, tuple[type, ...]] = {
    "CharField": (str,),
    "TextField": (str,),
    "BooleanField": (bool,),
    "IntegerField": (int,),
    "BigIntegerField": (int,),
    "SmallIntegerField": (int,),
    "PositiveIntegerField": (int,),
    "PositiveBigIntegerField": (int,),
    "PositiveSmallIntegerField": (int,),
    "FloatField": (float,),
    "ForeignKey": (int,),
}


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
        update(model, changed, [*next(iter(seen.values())), "changed_at"])
    return written


def update(model: type[M], rows: Collection[M], names: Collection[str]) -> None:
    """Write some fields of existing rows: one prepared statement, run for each row.

    `bulk_update` builds one huge CASE per field: for thousands of rows that takes many times longer.
    A row that was deleted meanwhile stays deleted.
    """
    connection = connections[router.db_for_write(model)]
    quote = connection.ops.quote_name
    options: Any = model._meta
    fields = [options.get_field(name) for name in names]
    assignments = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    key = quote(options.pk.column)
    statement = f"UPDATE {quote(options.db_table)} SET {assignments} WHERE {key} = %s"  # noqa: S608  only names of our models
    values = [
        [*columns, row.pk]
        for row, columns in zip(rows, _columns(rows, fields, connection), strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(statement, values)


def update_changed(model: type[M], changes: Iterable[tuple[M, Collection[str]]]) -> None:
    """Write of each row only the fields that are named beside it; rows with the same ones share a statement.

    What stays as it is costs nothing then, above all in indexes.
    """
    grouped: dict[frozenset[str], list[M]] = {}
    for row, names in changes:
        if names:
            grouped.setdefault(frozenset(names), []).append(row)
    for group, rows in grouped.items():
        update(model, rows, sorted(group))


def insert(model: type[M], rows: Collection[M]) -> None:
    """Write new rows like `update`: one prepared statement, run for each row. They learn no primary key."""
    if not rows:
        return
    connection = connections[router.db_for_write(model)]
    quote = connection.ops.quote_name
    options: Any = model._meta
    fields = [field for field in options.concrete_fields if not field.primary_key]
    names = ", ".join(quote(field.column) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quote(options.db_table)} ({names}) VALUES ({places})"  # noqa: S608  only names of our models
    with connection.cursor() as cursor:
        cursor.executemany(statement, _columns(rows, fields, connection))


def _columns(
    rows: Iterable[Model], fields: Sequence[Field[Any, Any]], connection: BaseDatabaseWrapper
) -> list[list[Any]]:
    """Return rows as a database takes them; asking each field about plain values is half of a large write."""
    plain = [_PLAIN.get(field.get_internal_type(), ()) for field in fields]
    asked = list(zip(fields, plain, strict=True))
    return [
        [
            value
            if (value := getattr(row, field.attname)) is None or type(value) in taken
            else field.get_db_prep_save(value, connection)
            for field, taken in asked
        ]
        for row in rows
    ]


def remove(model: type[Model], rows: Collection[Model]) -> None:
    """Delete rows that a successful round did not see any more."""
    keys = [row.pk for row in rows]
    for start in range(0, len(keys), BATCH):
        model._default_manager.filter(pk__in=keys[start : start + BATCH]).delete()
