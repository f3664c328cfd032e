"""Where Spark can be asked about a flow's offset syncs."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from django.urls import reverse

from console.replication.flows.models import ReplicationFlow
from jobs.spark.analyses.analysis import Analysis
from jobs.spark.analyses.kinds import ANALYSES

_LABELS = {
    "translate": "Translate many offsets with Spark",
    "refine": "Compare records (refine)",
    "backtest": "Backtest: how far may I trust this?",
    "backfill": "Fill the archive from the topic",
}


def analyses_of(
    flow: ReplicationFlow, analyses: Mapping[str, Analysis] = ANALYSES
) -> list[tuple[str, str]]:
    """Return label and address of the form of each kind that this release has, with the flow filled in."""
    query = urlencode({"flow": flow.name})
    return [
        (label, f"{reverse('runs:new-analysis', args=[kind])}?{query}")
        for kind, label in _LABELS.items()
        if kind in analyses
    ]
