"""Actions on placements: save after a preview, change, remove."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from console.accounts.audit import audit, change
from console.availability.placements.drafts import confirmation_of, draft_of, values_of
from console.availability.placements.models import TopicPlacement
from console.clusters.models import Cluster
from console.frame.security.current_request import current_username
from jobs.cluster.errors import InvalidFields

NOT_CONFIRMED = (
    "Request a preview first, and send its `confirm`: it identifies the previewed values."
)


@change("placement.assign")
def assign_placement(
    cluster: Cluster, values: Mapping[str, Any], confirm: str, now: datetime
) -> TopicPlacement:
    """Assign a placement to a topic or a pattern; `confirm` is that of its preview.

    Nothing is written to the cluster. Raises `InvalidFields`.
    """
    return _save(draft_of(cluster, values), confirm, now, "placement.assign", None)


@change("placement.change")
def change_placement(
    row: TopicPlacement, values: Mapping[str, Any], confirm: str, now: datetime
) -> TopicPlacement:
    """Change a placement (values not given stay); `confirm` is that of its preview.

    Raises `InvalidFields`.
    """
    draft = draft_of(row.cluster, values, row)
    return _save(draft, confirm, now, "placement.change", row)


@change("placement.remove")
def remove_placement(row: TopicPlacement) -> None:
    """Remove a placement; its topics use the next one that matches, or none."""
    with transaction.atomic():
        audit("placement.remove", str(row), cluster=row.cluster.alias, before=_to_json(row))
        row.delete()


def _save(
    draft: TopicPlacement, confirm: str, now: datetime, action: str, row: TopicPlacement | None
) -> TopicPlacement:
    if confirm != confirmation_of(draft):
        raise InvalidFields({"confirm": NOT_CONFIRMED})
    draft.created_at = draft.created_at or now
    draft.changed_at = now
    draft.changed_by = current_username()
    try:
        with transaction.atomic():
            draft.save()
            before = _to_json(row) if row else None
            audit(
                action,
                str(draft),
                cluster=draft.cluster.alias,
                before=before,
                after=_to_json(draft),
            )
    except IntegrityError:
        raise InvalidFields(
            {"pattern": f"{draft.pattern} has a placement already: change that one."}
        ) from None
    return draft


def _to_json(row: TopicPlacement) -> dict[str, Any]:
    values = values_of(row)
    return {**values, "placement": json.dumps(row.document, sort_keys=True)}
