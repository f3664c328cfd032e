"""What is kept of metadata logs: how far each is read, what the quorum said, what changed when.

Offsets are those of `__cluster_metadata-0`. Order is by offset only: the times are the clocks of the
controllers that were active, and may jump where the leader changed.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from console.clusters.models import TOPIC_NAME_LENGTH, Cluster
from console.frame.pages.freshness import Freshness, freshness_of_round
from console.frame.rounds import Round
from console.quorum.labels import Kind, field, told, told_changes
from console.quorum.voters.models import ControllerSilence, Election, VoterSetEntry
from console.quorum.voters.verdict import Verdict, verdict_of

__all__ = [
    "ControllerSilence",
    "Election",
    "Kind",
    "MetadataChange",
    "MetadataLog",
    "MetadataSubject",
    "QuorumStatus",
    "Source",
    "VoterSetEntry",
]

# No alias of a cluster begins like this, so that an address says which of both it means.
IMPORT_PREFIX = "_"
ID_LENGTH = 32
_UNFINISHED = "The log ends with what its node had not finished, which is normal after a kill: "
DAMAGE_WORDS = {"truncated_tail": _UNFINISHED, "zero_tail": _UNFINISHED}


class Source(models.TextChoices):
    """Where the records of a log come from."""

    FETCH = "fetch", "Followed"
    POLL = "poll", "Polled"
    IMPORT = "import", "Imported"


class MetadataLog(models.Model):
    """A metadata log: of a registered cluster, or imported from files.

    `name` is the cluster's alias, or `_` and a word for an imported log. `next_offset` is the first offset
    whose changes are not stored yet; `start_offset` the first that is known (null: none is); where older
    changes were removed, the state is known from `pruned_below` on. Records below
    `high_watermark` are committed. `gaps` are ranges that are missing, `damage` what was wrong in files: see
    `log.gaps`. `lost` says what cannot be known because the log cannot be fetched. `heard_at` is when the
    follower last heard of the log, `last_at` the time of the last record; `judged_at` when the rules were
    last applied to it (null: never).
    `failing_since` is null while nothing fails.
    """

    cluster = models.OneToOneField(
        Cluster, on_delete=models.CASCADE, related_name="metadata_log", null=True, blank=True
    )
    name = models.CharField(max_length=100, unique=True)
    title = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=10, choices=Source, default=Source.FETCH)
    created_at = models.DateTimeField()
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_with = models.JSONField(default=dict, blank=True)
    start_offset = models.BigIntegerField(null=True, blank=True)
    pruned_below = models.BigIntegerField(null=True, blank=True)
    next_offset = models.BigIntegerField(default=0)
    high_watermark = models.BigIntegerField(null=True, blank=True)
    leader_epoch = models.IntegerField(null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)
    behind_ms = models.BigIntegerField(null=True, blank=True)
    gaps = models.JSONField(default=list)
    damage = models.JSONField(default=list)
    lost = models.TextField(blank=True)
    heard_at = models.DateTimeField(null=True, blank=True)
    judged_at = models.DateTimeField(null=True, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    error_code = models.CharField(max_length=60, blank=True)
    error = models.TextField(blank=True)
    hint = models.TextField(blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_imported(self) -> bool:
        """Whether it is of files, and not of a registered cluster."""
        return self.cluster_id is None

    @property
    def is_fetched(self) -> bool:
        """Whether its records are fetched from the controllers."""
        return self.source == Source.FETCH

    @property
    def is_unread(self) -> bool:
        """Whether something of an imported log is not read or not judged, or its reading failed."""
        is_whole = not self.lost and self.failing_since is None and self.judged_at is not None
        return self.is_imported and not is_whole

    @property
    def first_offset(self) -> int | None:
        """The first offset at which the state is known; None when none is."""
        if self.start_offset is None or self.pruned_below is None:
            return self.start_offset
        return max(self.start_offset, self.pruned_below)

    @property
    def gap_sentences(self) -> list[str]:
        """What of it is missing and why, a sentence for each gap."""
        from console.quorum.log.gaps import gap_sentence

        return [gap_sentence(gap) for gap in self.gaps]

    @property
    def missing_sentences(self) -> list[str]:
        """All that its rows cannot tell, for a file of them."""
        return [*self.gap_sentences, *self.damage_sentences]

    @property
    def is_damaged(self) -> bool:
        """Whether something in its files is wrong, and not only unfinished at the end."""
        return any(row["kind"] not in DAMAGE_WORDS for row in self.damage)

    @property
    def damage_sentences(self) -> list[str]:
        """What was wrong in its files and made no gap: an unfinished end, impossible times, a snapshot."""
        reasons = {(gap.get("file"), gap.get("position")) for gap in self.gaps}
        rows = (row for row in self.damage if (row["file"], row["position"]) not in reasons)
        return [f"{DAMAGE_WORDS.get(row['kind'], '')}{row['sentence']}." for row in rows]

    @property
    def label(self) -> str:
        """What people call it: the cluster's alias, or the title of what was imported and that it was."""
        return f"{self.title or self.name} (imported)" if self.is_imported else self.name

    @property
    def verdict(self) -> Verdict:
        """Whether the quorum is safe, of logs of `queries.list_logs`."""
        return verdict_of(self, timezone.now())

    @property
    def freshness(self) -> Freshness:
        """How fresh the description of the quorum is."""
        row: QuorumStatus | None = getattr(self, "status", None) if self.pk else None
        return freshness_of_round("Quorum", row, settings.QUORUM_INTERVAL_S)


class QuorumStatus(Round):
    """What DescribeQuorum last said, with what the log and the rules add.

    `replicas` are mappings: `id`, `directory_id` (null: none), `role` (leader, voter, observer),
    `log_end_offset`, `lag`, `lag_ms`, `last_fetch_at`, `last_caught_up_at` (ISO 8601; null: unknown),
    `endpoints` (`NAME://host:port`), `min_version`, `max_version` (of kraft.version; null: unknown), `words`
    (silent, not_judged, dangling, other_directory). `memory` is what the next round is to know, see
    `voters.evaluation`. `succeeded_at` is the cluster's time of the last answer.
    """

    log = models.OneToOneField(MetadataLog, on_delete=models.CASCADE, related_name="status")
    leader_id = models.IntegerField(null=True, blank=True)
    leader_epoch = models.IntegerField(null=True, blank=True)
    high_watermark = models.BigIntegerField(null=True, blank=True)
    kraft_version = models.IntegerField(null=True, blank=True)
    voter_count = models.PositiveIntegerField(default=0)
    observer_count = models.PositiveIntegerField(default=0)
    worst_lag = models.BigIntegerField(null=True, blank=True)
    worst_lag_ms = models.BigIntegerField(null=True, blank=True)
    replicas = models.JSONField(default=list)
    memory = models.JSONField(default=dict)

    clusters_at: ClassVar = ("log__cluster",)

    def __str__(self) -> str:
        return f"quorum of {self.log_id}"

    @property
    def unjudged(self) -> str:
        """Why the last round could not judge the quorum; empty when it could."""
        return str(self.memory.get("unjudged", ""))


class MetadataSubject(models.Model):
    """A thing that the log tells of; a topic made again is another one, with another topic id.

    `key` is unique per kind: topic id and partition, topic id, broker id, resource and name of a setting,
    name of a feature. It first appeared at `first_offset` and is gone from `gone_offset` on (null: it is
    there); between the two a broker or a setting may have been away.
    """

    log = models.ForeignKey(MetadataLog, on_delete=models.CASCADE, related_name="subjects")
    kind = models.CharField(max_length=20, choices=Kind)
    key = models.CharField(max_length=600)
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH, blank=True)
    topic_id = models.CharField(max_length=ID_LENGTH, blank=True)
    partition = models.IntegerField(null=True, blank=True)
    broker = models.IntegerField(null=True, blank=True)
    name = models.CharField(max_length=600, blank=True)
    first_offset = models.BigIntegerField()
    gone_offset = models.BigIntegerField(null=True, blank=True)

    clusters_at: ClassVar = ("log__cluster",)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["log", "kind", "key"], name="one_row_per_metadata_subject"
            )
        ]
        indexes = [
            models.Index(fields=["log", "kind", "topic", "partition"], name="subject_by_topic"),
            models.Index(fields=["log", "kind", "first_offset"], name="subject_by_offset"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def told_state(self) -> list[tuple[str, str]]:
        """What it is, of subjects that `history.queries.with_states` has read."""
        state: dict[str, object] = getattr(self, "state", None) or {}
        return [(field(name), told(value)) for name, value in state.items()]


class MetadataChange(models.Model):
    """One change that a record of the log made.

    `number` counts the changes of one record (a RemoveTopicRecord removes many partitions), `type` is the
    record's. A record of a transaction counts from `effective_offset` on, where that ended. Where only a
    snapshot tells of it, `is_dated` is false and `at` is the latest time at which it may have been.
    `state` is what the subject is afterwards; when it was removed, what was last there. `cause` is a word of
    `jobs.quorum.history.changes.Cause`, `broker` is the broker that it is about or that caused it.
    `is_unclean`: a leader was elected that was not in sync.
    """

    log = models.ForeignKey(MetadataLog, on_delete=models.CASCADE, related_name="changes")
    offset = models.BigIntegerField()
    number = models.PositiveIntegerField(default=0)
    effective_offset = models.BigIntegerField()
    subject = models.ForeignKey(
        MetadataSubject, on_delete=models.CASCADE, related_name="changes", db_index=False
    )
    kind = models.CharField(max_length=20, choices=Kind)
    type = models.CharField(max_length=60)
    epoch = models.IntegerField()
    at = models.DateTimeField()
    is_dated = models.BooleanField(default=True)
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH, blank=True)
    topic_id = models.CharField(max_length=ID_LENGTH, blank=True)
    partition = models.IntegerField(null=True, blank=True)
    broker = models.IntegerField(null=True, blank=True)
    cause = models.CharField(max_length=60, blank=True)
    election = models.CharField(max_length=40, blank=True)
    is_unclean = models.BooleanField(default=False)
    is_removed = models.BooleanField(default=False)
    state = models.JSONField(default=dict)

    clusters_at: ClassVar = ("log__cluster",)

    class Meta:
        ordering = ["-offset", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["log", "offset", "number"], name="one_row_per_metadata_change"
            )
        ]
        indexes = [
            models.Index(fields=["subject", "effective_offset"], name="change_of_subject"),
            models.Index(fields=["log", "kind", "offset"], name="change_by_kind"),
            models.Index(fields=["log", "topic", "offset"], name="change_by_topic"),
            models.Index(
                fields=["log", "broker", "offset"],
                condition=Q(broker__isnull=False),
                name="change_by_broker",
            ),
            models.Index(fields=["log", "type", "offset"], name="change_by_type"),
            models.Index(fields=["log", "at"], name="change_by_time"),
            # Other rooms read on from where they were, in the order in which changes took effect.
            models.Index(
                fields=["log", "effective_offset", "offset", "number"], name="change_by_effect"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} at {self.offset}"

    @property
    def changes(self) -> dict[str, tuple[object, object]]:
        """What differs from before, as field: (before, after); of rows of `history.queries.with_previous`."""
        before: MetadataChange | None = getattr(self, "previous", None)
        was = {} if before is None or before.is_removed else before.state
        now = {} if self.is_removed else self.state
        names = [*now, *(name for name in was if name not in now)]
        return {n: (was.get(n), now.get(n)) for n in names if was.get(n) != now.get(n)}

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """The same for people."""
        return told_changes(self.changes)
