"""Actions on extractors: save and remove, by administrators of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from console.accounts.audit import audit_row, change
from console.accounts.models import User
from console.frame.errors import ActionRefused
from console.frame.security.access import require
from console.tracing.extractors.models import StoredExtractor
from jobs.cluster.errors import InvalidFields
from jobs.tracing.extractors.decoding import check_registry
from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.presets import PRESETS

MOST_EXTRACTORS = 500


def checked_extractor(name: str, definition: Mapping[str, Any]) -> Extractor:
    """Return the extractor that a definition says; raises `InvalidFields` with its fields."""
    extractor = Extractor.from_mapping({**definition, "name": name})
    check_registry(extractor.registry)
    return extractor


@change("extractor.save")
def save(
    row: StoredExtractor, name: str, definition: Mapping[str, Any], person: User, now: datetime
) -> StoredExtractor:
    """Create or change an extractor: it says which content of records others see as steps and types.

    Raises `InvalidFields` at `name` and the fields of the definition, `PermissionDenied`, `ActionRefused`.
    """
    require(person, "administer", row.cluster_id)
    before = _shown(row) if row.pk else None
    extractor = checked_extractor(name, definition)
    if extractor.name in PRESETS:
        raise InvalidFields({"name": f"{extractor.name} is a preset. Choose another name."})
    if not row.pk and StoredExtractor.objects.count() >= MOST_EXTRACTORS:
        raise ActionRefused("too_many", f"There are {MOST_EXTRACTORS} extractors. Remove one.")
    row.name, row.definition = extractor.name, extractor.to_mapping()
    del row.definition["name"]
    row.created_at = row.created_at or now
    row.changed_at, row.changed_by = now, person.get_username()
    try:
        with transaction.atomic():
            row.save()
            _audit("change" if before else "create", row, before=before, after=_shown(row))
    except IntegrityError:
        raise InvalidFields(
            {"name": "There is an extractor of this name. Choose another."}
        ) from None
    return row


@change("extractor.remove")
def remove(row: StoredExtractor, person: User) -> None:
    """Remove an extractor; what analyses found with it stays."""
    require(person, "administer", row.cluster_id)
    with transaction.atomic():
        _audit("remove", row, before=_shown(row))
        row.delete()


def _audit(verb: str, row: StoredExtractor, **values: Any) -> None:
    audit_row(verb, row, cluster=row.cluster.alias, **values)


def _shown(row: StoredExtractor) -> dict[str, Any]:
    return {"name": row.name, **row.definition}
