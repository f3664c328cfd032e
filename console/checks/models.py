"""The round of all checks."""

from __future__ import annotations

from django.db import models

from console.frame.rounds import Round


class CheckRound(Round):
    """The round of all checks; one row. `memory` is what the next round has to know, by area."""

    memory = models.JSONField(default=dict)

    def __str__(self) -> str:
        return "checks"
