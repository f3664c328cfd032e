"""The extractors that analyses can use: presets, and those that people stored for a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from console.frame.security.access import visible
from console.runs.analyses.sources import Source
from console.tracing.extractors.models import StoredExtractor
from console.tracing.extractors.queries import list_extractors
from jobs.cluster.errors import InvalidFields
from jobs.tracing.extractors.extractor import Extractor, preset_extractor
from jobs.tracing.extractors.presets import PRESETS


def list_sources(user: Any) -> list[Source]:
    """Return the presets, then the stored extractors that a person may see."""
    presets = [_preset(name) for name in PRESETS]
    return [*presets, *map(_stored, visible(user, list_extractors()))]


def get_source(name: str) -> Source | None:
    """Return an extractor by its name; None when there is none."""
    if name in PRESETS:
        return _preset(name)
    row = list_extractors().filter(name=name).first()
    return None if row is None else _stored(row)


def registry_of(name: str) -> Mapping[str, Any] | None:
    """Return the settings of a schema registry; None without a name.

    Raises `InvalidFields` at `registry` for one that is not configured.
    """
    if not name:
        return None
    found = getattr(settings, "SCHEMA_REGISTRIES", {}).get(name)
    if found is None:
        raise InvalidFields({"registry": f"There is no schema registry {name} in the settings."})
    mapping: Mapping[str, Any] = found.to_mapping()
    return mapping


def resource_of(extractor: Extractor) -> dict[str, Any]:
    """Return what a job gets for an extractor; raises `InvalidFields`."""
    return {"extractor": extractor.to_mapping(), "registry": registry_of(extractor.registry)}


def _preset(name: str) -> Source:
    extractor = preset_extractor(name)
    return Source(name, f"{name} (preset)", "", (), None, lambda: resource_of(extractor))


def _stored(row: StoredExtractor) -> Source:
    label = f"{row.name} ({row.cluster.alias})"
    # About its cluster: a run with both has one subject.
    return Source(
        row.name,
        label,
        f"cluster:{row.cluster_id}",
        (row.cluster_id,),
        None,
        lambda: resource_of(row.extractor()),
    )
