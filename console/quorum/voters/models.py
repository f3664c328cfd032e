"""Who the voters were, who led, and when no controller was active, by offsets of the metadata log."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jobs.quorum.health.elections import oddities


class VoterSetEntry(models.Model):
    """The voters from an offset on.

    `voters` are mappings: `id`, `directory_id` (null: none known), `endpoints`, `min_version`, `max_version`.
    `added`, `removed`, `moved` (other endpoints) and `replaced` (a disk: removed and added again) are
    lists of words. `is_committed` is null when the high watermark is not known. `is_static`: from
    the configuration, ids only.
    """

    log = models.ForeignKey(
        "quorum.MetadataLog", on_delete=models.CASCADE, related_name="voter_sets"
    )
    offset = models.BigIntegerField()
    epoch = models.IntegerField()
    at = models.DateTimeField()
    voters = models.JSONField(default=list)
    added = models.JSONField(default=list)
    removed = models.JSONField(default=list)
    moved = models.JSONField(default=list)
    replaced = models.JSONField(default=list)
    is_committed = models.BooleanField(null=True, blank=True)
    committed_at = models.DateTimeField(null=True, blank=True)
    is_static = models.BooleanField(default=False)
    anomalies = models.JSONField(default=list)

    clusters_at: ClassVar = ("log__cluster",)

    class Meta:
        ordering = ["offset"]
        constraints = [
            models.UniqueConstraint(fields=["log", "offset"], name="one_voter_set_per_offset")
        ]

    def __str__(self) -> str:
        return f"voters at {self.offset}"

    @property
    def change_text(self) -> str:
        """What changed, for an export."""
        named = {"added": self.added, "removed": self.removed, "moved": self.moved}
        return "; ".join(f"{word} {', '.join(names)}" for word, names in named.items() if names)

    @property
    def voters_text(self) -> str:
        """The voters, for an export."""
        return " ".join(f"{one['id']}@{one.get('directory_id') or '-'}" for one in self.voters)


class Election(models.Model):
    """A leader that took office: the LeaderChange record at `offset`.

    `voters` and `granting` are ids (who gave their vote; empty when the record does not say). `gap_ms` is how
    long no record was written before it: about as long there was no active controller; `is_silence` says that
    this is much longer than records usually are apart. `skipped_epochs` are epochs before it without a
    leader.
    """

    log = models.ForeignKey(
        "quorum.MetadataLog", on_delete=models.CASCADE, related_name="elections"
    )
    offset = models.BigIntegerField()
    epoch = models.IntegerField()
    at = models.DateTimeField()
    leader_id = models.IntegerField()
    voters = models.JSONField(default=list)
    granting = models.JSONField(default=list)
    gap_ms = models.BigIntegerField(null=True, blank=True)
    is_silence = models.BooleanField(default=False)
    skipped_epochs = models.PositiveIntegerField(default=0)
    is_in_storm = models.BooleanField(default=False)
    anomalies = models.JSONField(default=list)

    clusters_at: ClassVar = ("log__cluster",)

    class Meta:
        ordering = ["offset"]
        constraints = [
            models.UniqueConstraint(fields=["log", "offset"], name="one_election_per_offset")
        ]
        indexes = [models.Index(fields=["log", "at"], name="election_at")]

    def __str__(self) -> str:
        return f"epoch {self.epoch}"

    @property
    def oddities(self) -> list[str]:
        """Its anomalies in words, by the rules of the findings."""
        return oddities(
            self.anomalies,
            skipped_epochs=self.skipped_epochs,
            silence_ms=self.gap_ms if self.is_silence else None,
            is_in_storm=self.is_in_storm,
        )


class ControllerSilence(models.Model):
    """No record for much longer than usual, between two offsets of one leader: no controller was active.

    Silences that an election ended are on the rows of elections.
    """

    log = models.ForeignKey("quorum.MetadataLog", on_delete=models.CASCADE, related_name="silences")
    from_offset = models.BigIntegerField()
    to_offset = models.BigIntegerField()
    from_at = models.DateTimeField()
    to_at = models.DateTimeField()

    clusters_at: ClassVar = ("log__cluster",)

    class Meta:
        ordering = ["to_offset"]
        constraints = [
            models.UniqueConstraint(fields=["log", "to_offset"], name="one_silence_per_offset")
        ]
        indexes = [models.Index(fields=["log", "to_at"], name="silence_at")]

    def __str__(self) -> str:
        return f"silence before {self.to_offset}"
