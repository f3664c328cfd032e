"""A row per engine: what its host last saw of it."""

from __future__ import annotations

from django.db import models


class EngineKind(models.TextChoices):
    """What an engine runs; the value is the prefix of its name."""

    FLOWS = "flows", "Flows"
    ANALYSES = "engine", "Analyses"


class EngineState(models.TextChoices):
    """ROLLING means that its flows are moved to its successor."""

    STARTING = "STARTING", "Starting"
    RUNNING = "RUNNING", "Running"
    ROLLING = "ROLLING", "Rolling"
    STOPPED = "STOPPED", "Stopped"
    CRASHED = "CRASHED", "Crashed"


class Engine(models.Model):
    """One engine, named by its folder; visible with a role everywhere, because it has flows of all clusters.

    `progress` is what the engine last wrote, null before. `log` is the end of its log, empty while it lives.
    `problem` is a sentence: why it ended, or why it could not be rolled; else empty.
    """

    name = models.CharField(max_length=60, primary_key=True)
    kind = models.CharField(max_length=10, choices=EngineKind)
    state = models.CharField(max_length=10, choices=EngineState, default=EngineState.STARTING)
    release = models.CharField(max_length=40, blank=True)
    host = models.CharField(max_length=255)
    folder = models.CharField(max_length=500)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    roll_requested_at = models.DateTimeField(null=True, blank=True)
    progress = models.JSONField(null=True, blank=True)
    problem = models.TextField(blank=True)
    log = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.name

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def may_roll(self) -> bool:
        """Whether a rolling restart can be requested."""
        is_rolling = self.roll_requested_at or self.state == EngineState.ROLLING
        return self.kind == EngineKind.FLOWS and self.is_live and not is_rolling

    @property
    def flow_count(self) -> int | None:
        """How many flows it has; None before its first report, and of one for analyses."""
        return self._count("flows")

    @property
    def slot_count(self) -> int | None:
        """How many slots it has, likewise."""
        return self._count("slots")

    def _count(self, name: str) -> int | None:
        rows = (self.progress or {}).get(name)
        return None if rows is None else len(rows)
