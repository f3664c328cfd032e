"""Checkpoints of groups, failover readiness, and the history of both."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from console.frame.rounds import Round
from console.replication.checkpoints.text import (
    HELD,
    SEVERITIES,
    WORDS,
    reason_word,
    repeated_of,
    span_of,
)
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.replication.checkpoints.reasons import CheckpointReason, reason_text
from jobs.severity import Severity

READINESS_CHOICES = [(step.value, step.value.replace("_", " ")) for step in Readiness]
_OF_FLOW = ("flow__source", "flow__target")
FLOW = "replication.ReplicationFlow"


def _readiness() -> models.CharField[str, str]:
    return models.CharField(
        max_length=20, choices=READINESS_CHOICES, default=Readiness.UNKNOWN.value
    )


class Answer(models.Model):
    """What the answers for groups, topics and flows share. Numbers are null when they are unknown.

    `rank` is the readiness as a number (4: blocked, 0: not covered), `evidence` a list of {obstacle,
    readiness, text, hint}, worst first. `rpo_records` and `rpo_ms` are what the target does not have.
    `reread_lo` and `reread_hi` bound what groups reprocess when they resume without a plan, `skipped_lo` and
    `skipped_hi` what they would skip, `repeated_hi` what a plan repeats at most once they have stopped, and
    `repeated_coming_hi` what it repeats at most while they commit.
    `since` is when the readiness last changed, `updated_at` when anything did. `found` is another readiness
    that the last round found and that does not count yet, `found_since` since when in a row, and
    `differs_since` since when rounds find another one than `readiness`; empty while they agree.
    """

    readiness = _readiness()
    rank = models.PositiveSmallIntegerField(default=Readiness.UNKNOWN.rank)
    evidence = models.JSONField(default=list)
    rpo_records = models.BigIntegerField(null=True)
    rpo_ms = models.BigIntegerField(null=True)
    reread_lo = models.BigIntegerField(null=True)
    reread_hi = models.BigIntegerField(null=True)
    skipped_lo = models.BigIntegerField(null=True)
    skipped_hi = models.BigIntegerField(null=True)
    repeated_hi = models.BigIntegerField(null=True)
    repeated_coming_hi = models.BigIntegerField(null=True)
    since = models.DateTimeField()
    updated_at = models.DateTimeField()
    found = models.CharField(max_length=20, choices=READINESS_CHOICES, blank=True, default="")
    found_since = models.DateTimeField(null=True)
    differs_since = models.DateTimeField(null=True)

    clusters_at: ClassVar = _OF_FLOW

    class Meta:
        abstract = True

    @property
    def word(self) -> str:
        """The readiness as people say it."""
        return WORDS[Readiness(self.readiness)]

    @property
    def severity(self) -> Severity:
        return SEVERITIES[Readiness(self.readiness)]

    @property
    def found_text(self) -> str:
        """What the last rounds found and does not count yet, as people say it; empty when they agree."""
        if not self.found or self.found_since is None:
            return ""
        word = WORDS[Readiness(self.found)]
        return f"{word} since {self.found_since:%H:%M:%S} UTC, not counted yet. {HELD}"

    @property
    def reread(self) -> str:
        """Records that groups reprocess when they resume without a plan, and records skipped, in words."""
        text = span_of(self.reread_lo, self.reread_hi)
        return f"{text}, skips {self.skipped_lo:,}" if self.skipped_lo else text

    @property
    def repeated(self) -> str:
        """Records reprocessed with a plan, in words: once the groups have stopped, and while they commit."""
        return repeated_of(self.repeated_hi, self.repeated_coming_hi)

    @property
    def told(self) -> list[dict[str, str]]:
        """The evidence as findings take it."""
        steps = [(Readiness(each["readiness"]), each) for each in self.evidence]
        return [
            {
                "severity": SEVERITIES[step],
                "word": WORDS[step],
                "text": each["text"],
                "hint": each["hint"],
            }
            for step, each in steps
        ]

    @property
    def why(self) -> str:
        """The worst obstacle; empty for none."""
        return str(self.evidence[0]["text"]) if self.evidence else ""


class FlowReadiness(Answer, Round):
    """The answer for a flow, and how its collection goes.

    `counts` is how many groups are in which readiness, `checkpoint_at` when the oldest checkpoint that its
    group has left behind was written, `behind` the records between groups and checkpoints and
    `behind_unknown_count` of how many partitions they are not known, which has no checkpoint or no commit.
    `checkpoints_read_to`, `checkpoints_topic_id` and `settings_mark` say what was read of the topic of
    checkpoints, of which topic, and for which settings: only what is new is read again.
    """

    flow = models.OneToOneField(FLOW, on_delete=models.CASCADE, related_name="answer")
    counts = models.JSONField(default=dict)
    behind = models.BigIntegerField(null=True)
    behind_unknown_count = models.PositiveIntegerField(default=0)
    checkpoint_at = models.DateTimeField(null=True)
    checkpoints_read_to = models.BigIntegerField(null=True)
    checkpoints_read_at = models.DateTimeField(null=True)
    checkpoints_topic_id = models.CharField(max_length=32, blank=True)
    settings_mark = models.CharField(max_length=64, blank=True)
    sampled_groups_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"flow {self.flow_id}: {self.readiness}"

    @property
    def ready_text(self) -> str:
        """How many groups are ready, of those that the flow covers."""
        covered = sum(n for word, n in self.counts.items() if word != Readiness.NOT_COVERED)
        return f"{self.counts.get(Readiness.READY.value, 0):,}/{covered:,} groups ready"


class TopicReadiness(Answer):
    """The answer for a source topic of a flow: over all groups that read it."""

    flow = models.ForeignKey(FLOW, on_delete=models.CASCADE, related_name="topic_answers")
    topic = models.CharField(max_length=249)
    group_count = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["topic"]
        constraints = [
            models.UniqueConstraint(fields=["flow", "topic"], name="one_answer_per_flow_topic")
        ]

    def __str__(self) -> str:
        return f"{self.topic}: {self.readiness}"


class GroupReadiness(Answer):
    """The answer for a group in a flow, with its checkpoints.

    `state` is the group's on the source, in Kafka's words. `reason` is the word of the checkpoint that is
    furthest from what one would expect (`CheckpointReason`). `checkpoint_at` is when the oldest checkpoint
    was written that the group has left behind, or the oldest of all when there is no such one; `behind` the
    records between the group's offsets and its checkpoints, `behind_unknown_count` as for a flow.
    `topics` is a list of the answers per topic, `partitions` one of everything that is known per partition:
    a group's partitions are always written and read together, so they are one document, not a row each.
    """

    flow = models.ForeignKey(FLOW, on_delete=models.CASCADE, related_name="group_answers")
    group = models.CharField(max_length=255)
    state = models.CharField(max_length=40, blank=True)
    topic_names = models.TextField(blank=True)
    partition_count = models.PositiveIntegerField(default=0)
    checkpoint_count = models.PositiveIntegerField(default=0)
    reason = models.CharField(max_length=20, blank=True)
    behind = models.BigIntegerField(null=True)
    behind_unknown_count = models.PositiveIntegerField(default=0)
    checkpoint_at = models.DateTimeField(null=True)
    topics = models.JSONField(default=list)
    partitions = models.JSONField(default=list)

    class Meta:
        ordering = ["group"]
        constraints = [
            models.UniqueConstraint(fields=["flow", "group"], name="one_answer_per_flow_group")
        ]
        indexes = [
            models.Index(fields=["flow", "-rank", "id"], name="group_answer_worst_first"),
            # Rows are wide: sorting thousands for a page of fifty costs more than all the rest.
            models.Index(fields=["flow", "-behind", "id"], name="group_answer_behind"),
            models.Index(fields=["flow", "checkpoint_at", "id"], name="group_answer_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.group}: {self.readiness}"

    @property
    def reason_word(self) -> str:
        return reason_word(self.reason)

    @property
    def reason_text(self) -> str:
        """What there is to say of its checkpoints, and what to do."""
        return reason_text(CheckpointReason(self.reason)) if self.reason else ""


class CheckpointSeries(models.Model):
    """What a series of checkpoint lag is about: a flow (no group), a group (no topic), or one partition."""

    flow = models.ForeignKey(FLOW, on_delete=models.CASCADE, related_name="checkpoint_series")
    group = models.CharField(max_length=255, blank=True, default="")
    topic = models.CharField(max_length=249, blank=True, default="")
    partition = models.IntegerField(default=-1)

    clusters_at: ClassVar = _OF_FLOW

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["flow", "group", "topic", "partition"], name="one_checkpoint_series"
            )
        ]

    def __str__(self) -> str:
        return f"{self.flow_id} {self.group} {self.topic} {self.partition}"


class CheckpointSample(models.Model):
    """Checkpoint lag at a time: as collected (`step_s` 0), or the worst of a minute or an hour.

    `at_s` is Unix time in seconds, the begin of the step. Numbers are null when they were unknown; `reread`
    is the upper bound, null where nothing bounds it.
    """

    series = models.ForeignKey(CheckpointSeries, on_delete=models.CASCADE, related_name="samples")
    step_s = models.PositiveIntegerField(default=0)
    at_s = models.BigIntegerField()
    age_ms = models.BigIntegerField(null=True)
    behind = models.BigIntegerField(null=True)
    reread = models.BigIntegerField(null=True)
    at_risk = models.BigIntegerField(null=True)
    at_risk_ms = models.BigIntegerField(null=True)
    rank = models.PositiveSmallIntegerField(null=True)

    clusters_at: ClassVar = ("series__flow__source", "series__flow__target")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["series", "step_s", "at_s"], name="one_checkpoint_sample"
            )
        ]
        indexes = [models.Index(fields=["step_s", "at_s"], name="checkpoint_step_at")]

    def __str__(self) -> str:
        return f"{self.series_id} {self.step_s} {self.at_s}"


class ReadinessChange(models.Model):
    """When the answer for a flow (`group` is "") or for a group became another one."""

    flow = models.ForeignKey(FLOW, on_delete=models.CASCADE, related_name="readiness_changes")
    group = models.CharField(max_length=255, blank=True, default="")
    at = models.DateTimeField()
    readiness = _readiness()

    clusters_at: ClassVar = _OF_FLOW

    class Meta:
        indexes = [
            models.Index(fields=["flow", "group", "at"], name="readiness_flow_group_at"),
            models.Index(fields=["at"], name="readiness_at"),
        ]

    def __str__(self) -> str:
        return f"{self.flow_id} {self.group} {self.at} {self.readiness}"
