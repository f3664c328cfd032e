"""What must hold of the settings of runs."""

from __future__ import annotations

import os
from typing import Any

from django.core.checks import CheckMessage, register
from django.core.checks import Warning as Caution

from jobs.spark.secret import secret_of


@register("crosslog")
def check_spark_secret(**_: Any) -> list[CheckMessage]:
    """Say at the start what would be seen at the first run: a cluster is refused without its secret."""
    master = os.environ.get("CROSSLOG_SPARK_MASTER")
    try:
        if master:
            secret_of(master)
    except ValueError as refusal:
        text, hint = str(refusal).split(": ", 1)
        return [Caution(f"{text}: no run is started.", hint=hint, id="crosslog.W003")]
    return []
