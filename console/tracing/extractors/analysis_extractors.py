"""The extractors that analyses can use."""

from __future__ import annotations

from typing import Any

from console.runs.analyses.sources import Source
from jobs.tracing.extractors.extractor import Extractor, preset_extractor
from jobs.tracing.extractors.presets import PRESETS


def list_sources(_user: Any) -> list[Source]:
    """Return the presets."""
    return [_source(preset_extractor(name), f"{name} (preset)") for name in PRESETS]


def get_source(name: str) -> Source | None:
    """Return a preset by its name; None when there is none."""
    return _source(preset_extractor(name), f"{name} (preset)") if name in PRESETS else None


def _source(extractor: Extractor, label: str) -> Source:
    def resource() -> dict[str, Any]:
        return {"extractor": extractor.to_mapping(), "registry": None}

    return Source(extractor.name, label, "", (), None, resource)
