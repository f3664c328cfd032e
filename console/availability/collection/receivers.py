"""What is done as soon as changes of a metadata log are stored, in the process that follows it."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from console.availability.collection import collect


def on_metadata(sender: Any, *, cluster_id: int, **_: Any) -> None:
    """Take in what concerns partitions; others may have done it already."""
    if collect.has_news(cluster_id):
        collect.take_in(cluster_id, timezone.now)
