"""The extractors that analyses can use: presets, and those that people stored for a cluster."""

from __future__ import annotations

from typing import Any

from console.frame.security.access import visible
from console.runs.analyses.sources import Source
from console.tracing.extractors.models import StoredExtractor
from console.tracing.extractors.queries import list_extractors
from jobs.tracing.extractors.decoding import check_registry
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


def _preset(name: str) -> Source:
    extractor = preset_extractor(name)
    return Source(name, f"{name} (preset)", "", (), None, lambda: _resource(extractor))


def _stored(row: StoredExtractor) -> Source:
    label = f"{row.name} ({row.cluster.alias})"
    # About its cluster: a run with both has one subject.
    return Source(
        row.name,
        label,
        f"cluster:{row.cluster_id}",
        (row.cluster_id,),
        None,
        lambda: _resource(row.extractor()),
    )


def _resource(extractor: Extractor) -> dict[str, Any]:
    """Return what a job gets for an extractor; raises `InvalidFields` for a registry that is gone."""
    check_registry(extractor.registry)
    return {"extractor": extractor.to_mapping()}
