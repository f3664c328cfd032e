"""What a new database gets in place of 0001 to 0011; an older one goes through these."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("availability", "0001_availability"),
        ("availability", "0002_placements"),
        ("availability", "0003_promotion"),
        ("availability", "0004_controller_sites"),
        ("availability", "0005_add_kafkas_counts"),
        ("availability", "0006_fill_kafkas_counts"),
        ("availability", "0007_remember_pruned_unclean_elections"),
        ("availability", "0008_keep_rights_of_requests"),
        ("availability", "0009_reassignments"),
        ("availability", "0010_reassignments_fill_counts"),
        ("availability", "0011_tell_what_is_not_known_of_partitions"),
    ]

    initial = True

    dependencies = [
        ("clusters", "0003_add_source_of_min_isr"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AvailabilityRound",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "noun",
                    models.CharField(
                        choices=[("status", "Status"), ("lag", "Replica lag")], max_length=10
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        blank=True,
                        choices=[("log", "Metadata log"), ("poll", "Polled")],
                        max_length=4,
                    ),
                ),
                ("log_id", models.BigIntegerField(blank=True, null=True)),
                ("cursor", models.BigIntegerField(default=-1)),
                ("cursor_offset", models.BigIntegerField(default=-1)),
                ("cursor_number", models.BigIntegerField(default=-1)),
                ("polled_at", models.DateTimeField(blank=True, null=True)),
                ("interval_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("sampled_s", models.BigIntegerField(blank=True, null=True)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("duration_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("succeeded_at", models.DateTimeField(blank=True, null=True)),
                ("failing_since", models.DateTimeField(blank=True, null=True)),
                ("error_code", models.CharField(blank=True, max_length=60)),
                ("error", models.TextField(blank=True)),
                ("hint", models.TextField(blank=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="availability_rounds",
                        to="clusters.cluster",
                    ),
                ),
                ("unclean_pruned", models.PositiveIntegerField(default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "noun"), name="one_availability_round_per_noun"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BrokerChurn",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("broker_id", models.IntegerField()),
                ("hour", models.DateTimeField()),
                ("shrinks", models.PositiveIntegerField(default=0)),
                ("expands", models.PositiveIntegerField(default=0)),
                ("leaders_won", models.PositiveIntegerField(default=0)),
                ("leaders_lost", models.PositiveIntegerField(default=0)),
                ("unclean", models.PositiveIntegerField(default=0)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["-hour", "broker_id"],
                "indexes": [models.Index(fields=["cluster", "hour"], name="churn_by_hour")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "broker_id", "hour"), name="one_churn_per_broker_hour"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BrokerStatus",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("broker_id", models.IntegerField()),
                ("rack", models.CharField(blank=True, max_length=255)),
                ("is_there", models.BooleanField(blank=True, null=True)),
                ("in_controlled_shutdown", models.BooleanField(default=False)),
                ("since", models.DateTimeField(blank=True, null=True)),
                ("last_fenced_at", models.DateTimeField(blank=True, null=True)),
                ("registered_at", models.DateTimeField(blank=True, null=True)),
                ("incarnation_id", models.CharField(blank=True, max_length=32)),
                ("broker_epoch", models.BigIntegerField(blank=True, null=True)),
                ("offset", models.BigIntegerField(blank=True, null=True)),
                (
                    "source",
                    models.CharField(
                        choices=[("log", "Metadata log"), ("poll", "Polled")], max_length=4
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="broker_statuses",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["broker_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "broker_id"), name="one_status_per_broker"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CountSample",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("cluster", "cluster"),
                            ("topic", "topic"),
                            ("broker", "broker"),
                            ("rack", "rack"),
                        ],
                        max_length=10,
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=255)),
                ("step_s", models.PositiveIntegerField()),
                ("at_s", models.BigIntegerField()),
                ("under_replicated", models.IntegerField(default=0)),
                ("at_min_isr", models.IntegerField(default=0)),
                ("under_min_isr", models.IntegerField(default=0)),
                ("offline", models.IntegerField(default=0)),
                ("rf_below_min", models.IntegerField(default=0)),
                ("out_of_sync", models.IntegerField(default=0)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="clusters.cluster",
                    ),
                ),
                ("unwritable", models.IntegerField(default=0)),
            ],
            options={
                "indexes": [models.Index(fields=["step_s", "at_s"], name="count_sample_by_age")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "kind", "name", "step_s", "at_s"),
                        name="one_count_per_step",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MinIsrSetting",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("topic", models.CharField(blank=True, max_length=249)),
                ("value", models.PositiveIntegerField()),
                ("offset", models.BigIntegerField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "topic"), name="one_min_isr_setting")
                ],
            },
        ),
        migrations.CreateModel(
            name="OutOfSyncSpan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=261)),
                ("topic", models.CharField(max_length=249)),
                ("partition", models.PositiveIntegerField()),
                (
                    "source",
                    models.CharField(
                        choices=[("log", "Metadata log"), ("poll", "Polled")], max_length=4
                    ),
                ),
                ("began_at", models.DateTimeField()),
                ("not_before", models.DateTimeField(blank=True, null=True)),
                ("cause", models.CharField(blank=True, max_length=60)),
                ("cause_broker", models.IntegerField(blank=True, null=True)),
                ("offset", models.BigIntegerField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("end_cause", models.CharField(blank=True, max_length=60)),
                ("end_broker", models.IntegerField(blank=True, null=True)),
                ("end_offset", models.BigIntegerField(blank=True, null=True)),
                ("broker", models.IntegerField()),
                ("left_end_offset", models.BigIntegerField(blank=True, null=True)),
                ("lag", models.BigIntegerField(blank=True, null=True)),
                ("lag_at", models.DateTimeField(blank=True, null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["-began_at"],
                "indexes": [
                    models.Index(fields=["cluster", "key", "began_at"], name="absence_of_one"),
                    models.Index(
                        condition=models.Q(("ended_at", None)),
                        fields=["cluster", "broker", "began_at"],
                        name="open_absence_by_broker",
                    ),
                    models.Index(fields=["cluster", "ended_at", "began_at"], name="absence_by_end"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)),
                        fields=("cluster", "key", "broker"),
                        name="one_open_absence_per_replica",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PartitionStatus",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=261)),
                ("topic", models.CharField(max_length=249)),
                ("topic_id", models.CharField(blank=True, max_length=32)),
                ("partition", models.PositiveIntegerField()),
                ("leader", models.IntegerField(blank=True, null=True)),
                ("leader_epoch", models.IntegerField(blank=True, null=True)),
                ("partition_epoch", models.IntegerField(blank=True, null=True)),
                ("replicas", models.JSONField(default=list)),
                ("isr", models.JSONField(default=list)),
                ("elr", models.JSONField(blank=True, null=True)),
                ("last_known_elr", models.JSONField(blank=True, null=True)),
                ("adding", models.JSONField(blank=True, default=list, null=True)),
                ("observers", models.JSONField(default=list)),
                ("min_insync_replicas", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "min_isr_origin",
                    models.CharField(
                        choices=[
                            ("topic", "topic"),
                            ("broker", "broker"),
                            ("cluster", "cluster"),
                            ("static", "static"),
                            ("kafka", "kafka"),
                            ("unknown", "unknown"),
                        ],
                        default="unknown",
                        max_length=10,
                    ),
                ),
                (
                    "severity",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "ok"),
                            (1, "under_replicated"),
                            (2, "at_min_isr"),
                            (3, "under_min_isr"),
                            (4, "offline"),
                        ],
                        default=0,
                    ),
                ),
                ("is_rf_below_min", models.BooleanField(default=False)),
                ("missing_count", models.PositiveIntegerField(default=0)),
                ("replica_text", models.CharField(blank=True, max_length=400)),
                ("missing_text", models.CharField(blank=True, max_length=400)),
                (
                    "source",
                    models.CharField(
                        choices=[("log", "Metadata log"), ("poll", "Polled")], max_length=4
                    ),
                ),
                ("known_since", models.DateTimeField()),
                ("since", models.DateTimeField()),
                ("not_before", models.DateTimeField(blank=True, null=True)),
                ("cause", models.CharField(blank=True, max_length=60)),
                ("cause_broker", models.IntegerField(blank=True, null=True)),
                ("offset", models.BigIntegerField(blank=True, null=True)),
                ("seen_at", models.DateTimeField()),
                ("out_since", models.DateTimeField(blank=True, null=True)),
                ("worst_lag", models.BigIntegerField(blank=True, null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="partition_statuses",
                        to="clusters.cluster",
                    ),
                ),
                ("counted_text", models.CharField(blank=True, max_length=60)),
                ("removing", models.JSONField(default=list)),
                ("is_unsure", models.BooleanField(default=False)),
                ("limits_min_isr", models.BooleanField(blank=True, default=True, null=True)),
            ],
            options={
                "ordering": ["topic", "partition"],
                "indexes": [
                    models.Index(fields=["cluster", "-severity", "id"], name="status_worst_first"),
                    models.Index(fields=["cluster", "topic", "partition"], name="status_by_topic"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "key"), name="one_status_per_partition"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PolledMoment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=261)),
                ("at", models.DateTimeField()),
                ("not_before", models.DateTimeField(blank=True, null=True)),
                ("cause", models.CharField(max_length=60)),
                ("state", models.JSONField(blank=True, null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["at"],
                "indexes": [
                    models.Index(fields=["cluster", "key", "at"], name="polled_moment_of_one")
                ],
            },
        ),
        migrations.CreateModel(
            name="Rollup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("cluster", "cluster"),
                            ("topic", "topic"),
                            ("broker", "broker"),
                            ("rack", "rack"),
                        ],
                        max_length=10,
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=255)),
                ("partitions", models.IntegerField(default=0)),
                ("under_replicated", models.IntegerField(default=0)),
                ("at_min_isr", models.IntegerField(default=0)),
                ("under_min_isr", models.IntegerField(default=0)),
                ("offline", models.IntegerField(default=0)),
                ("rf_below_min", models.IntegerField(default=0)),
                ("out_of_sync", models.IntegerField(default=0)),
                ("leaders", models.IntegerField(default=0)),
                (
                    "worst",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "ok"),
                            (1, "under_replicated"),
                            (2, "at_min_isr"),
                            (3, "under_min_isr"),
                            (4, "offline"),
                        ],
                        default=0,
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rollups",
                        to="clusters.cluster",
                    ),
                ),
                ("state_under_replicated", models.IntegerField(default=0)),
                ("state_at_min_isr", models.IntegerField(default=0)),
                ("state_under_min_isr", models.IntegerField(default=0)),
                ("broker_at_min_isr", models.IntegerField(default=0)),
                ("broker_under_min_isr", models.IntegerField(default=0)),
                ("unsure", models.IntegerField(default=0)),
            ],
            options={
                "ordering": ["kind", "name"],
                "indexes": [
                    models.Index(
                        fields=["cluster", "kind", "-worst", "-offline"], name="rollup_worst_first"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "kind", "name"), name="one_rollup_per_scope"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SeveritySpan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=261)),
                ("topic", models.CharField(max_length=249)),
                ("partition", models.PositiveIntegerField()),
                (
                    "source",
                    models.CharField(
                        choices=[("log", "Metadata log"), ("poll", "Polled")], max_length=4
                    ),
                ),
                ("began_at", models.DateTimeField()),
                ("not_before", models.DateTimeField(blank=True, null=True)),
                ("cause", models.CharField(blank=True, max_length=60)),
                ("cause_broker", models.IntegerField(blank=True, null=True)),
                ("offset", models.BigIntegerField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("end_cause", models.CharField(blank=True, max_length=60)),
                ("end_broker", models.IntegerField(blank=True, null=True)),
                ("end_offset", models.BigIntegerField(blank=True, null=True)),
                (
                    "severity",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "ok"),
                            (1, "under_replicated"),
                            (2, "at_min_isr"),
                            (3, "under_min_isr"),
                            (4, "offline"),
                        ]
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["-began_at"],
                "indexes": [
                    models.Index(
                        fields=["cluster", "key", "began_at"], name="severity_span_of_one"
                    ),
                    models.Index(
                        fields=["cluster", "severity", "began_at"], name="severity_span_by_kind"
                    ),
                    models.Index(fields=["cluster", "ended_at"], name="severity_span_by_end"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)),
                        fields=("cluster", "key"),
                        name="one_open_severity_span",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UncleanElection",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=261)),
                ("topic", models.CharField(max_length=249)),
                ("partition", models.PositiveIntegerField()),
                ("at", models.DateTimeField()),
                ("offset", models.BigIntegerField(blank=True, null=True)),
                ("leader", models.IntegerField(blank=True, null=True)),
                ("isr_before", models.JSONField(default=list)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["-at"],
                "indexes": [
                    models.Index(fields=["cluster", "at"], name="unclean_election_by_time")
                ],
            },
        ),
        migrations.CreateModel(
            name="TopicPlacement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("exact", "Exactly this topic"),
                            ("glob", "A glob: orders.*"),
                            ("regex", "A regular expression over the whole name"),
                        ],
                        default="exact",
                        max_length=10,
                    ),
                ),
                ("pattern", models.CharField(max_length=249)),
                ("priority", models.PositiveIntegerField(default=0)),
                ("document", models.JSONField()),
                ("note", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("changed_by", models.CharField(blank=True, max_length=150)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="placements",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["cluster", "kind", "-priority", "pattern"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "kind", "pattern"), name="one_placement_per_pattern"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WhatIfPicture",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("made_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField(blank=True, null=True)),
                ("digest", models.CharField(max_length=64)),
                ("packed", models.BinaryField()),
                ("partition_count", models.PositiveIntegerField(default=0)),
                ("topic_count", models.PositiveIntegerField(default=0)),
                ("gaps", models.JSONField(default=list)),
                ("matrix", models.JSONField(blank=True, null=True)),
                ("matrix_digest", models.CharField(blank=True, max_length=64)),
                ("matrix_at", models.DateTimeField(blank=True, null=True)),
                ("matrix_ms", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="what_if_picture",
                        to="clusters.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Drill",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("promotion", "Promotion on a test topic"),
                            ("what_if", "What-if against reality"),
                        ],
                        default="promotion",
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("partial", "Partly done"),
                            ("refused", "Refused"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("title", models.CharField(blank=True, default="", max_length=200)),
                ("actors", models.JSONField(default=list)),
                ("broker", models.IntegerField(blank=True, null=True)),
                ("topic", models.CharField(blank=True, default="", max_length=249)),
                ("topic_removed_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("claimed_by", models.CharField(blank=True, default="", max_length=100)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("good_count", models.PositiveIntegerField(default=0)),
                ("bad_count", models.PositiveIntegerField(default=0)),
                ("error", models.TextField(blank=True, default="")),
                ("log", models.JSONField(default=list)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drills",
                        to="clusters.cluster",
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("asked_with", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["-created_at"],
                "indexes": [models.Index(fields=["cluster", "-created_at"], name="drill_created")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        fields=("cluster",),
                        name="one_live_drill_per_cluster",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DrillResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("subject", models.CharField(max_length=300)),
                (
                    "actor",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("fenced_standby", "Fenced standby broker"),
                            ("held_back_replica", "Held-back replica"),
                            ("reassign_to_spare", "Reassignment to a spare"),
                            ("relax_min_isr", "min.insync.replicas relaxed"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("is_good", models.BooleanField()),
                ("promote_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("revert_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("expected_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("prediction", models.JSONField(default=dict)),
                ("seen", models.JSONField(default=dict)),
                ("message", models.TextField(blank=True, default="")),
                ("at", models.DateTimeField()),
                (
                    "drill",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="results",
                        to="availability.drill",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("drill", "subject"), name="one_result_per_drill_subject"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="HeldPromotion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("promotion_id", models.CharField(max_length=100)),
                ("broker", models.IntegerField()),
                (
                    "phase",
                    models.CharField(
                        choices=[("held", "held"), ("demoting", "demoting"), ("ended", "ended")],
                        default="held",
                        max_length=10,
                    ),
                ),
                ("generation", models.PositiveBigIntegerField(default=1)),
                ("topics", models.JSONField(default=list)),
                ("asked_by", models.CharField(blank=True, default="", max_length=200)),
                ("why", models.TextField(blank=True, default="")),
                ("begun_at_ms", models.BigIntegerField(default=0)),
                ("changed_at_ms", models.BigIntegerField(default=0)),
                ("ended_at_ms", models.BigIntegerField(blank=True, null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="held_promotions",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["broker", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "promotion_id"), name="one_row_per_held_promotion"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("phase", "ended"), _negated=True),
                        fields=("cluster", "broker"),
                        name="one_held_promotion_per_broker",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ObserverEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("promoted", "Promoted"),
                            ("demoted", "Demoted"),
                            ("became_leader", "Became leader"),
                            ("left_leadership", "Left leadership"),
                            ("assigned", "Assigned"),
                            ("unassigned", "Unassigned"),
                        ],
                        max_length=20,
                    ),
                ),
                ("topic", models.CharField(max_length=249)),
                ("partition", models.PositiveIntegerField()),
                ("broker", models.IntegerField()),
                ("lasted_ms", models.BigIntegerField(blank=True, null=True)),
                ("sentence", models.TextField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="observer_events",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["-at", "-pk"],
                "indexes": [models.Index(fields=["cluster", "-at"], name="observer_event_at")],
            },
        ),
        migrations.CreateModel(
            name="PromotionFinding",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("code", models.CharField(max_length=60)),
                (
                    "severity",
                    models.CharField(
                        choices=[
                            ("notice", "notice"),
                            ("warn", "warn"),
                            ("risk", "risk"),
                            ("crit", "crit"),
                        ],
                        max_length=10,
                    ),
                ),
                ("rank", models.PositiveSmallIntegerField(default=0)),
                ("topic", models.CharField(blank=True, default="", max_length=249)),
                ("partition", models.PositiveIntegerField(blank=True, null=True)),
                ("brokers", models.JSONField(default=list)),
                ("trouble", models.CharField(blank=True, default="", max_length=30)),
                ("cause", models.CharField(blank=True, default="", max_length=60)),
                ("subject", models.CharField(blank=True, max_length=300)),
                ("sentence", models.TextField()),
                ("todo", models.TextField(blank=True)),
                ("evidence", models.JSONField(default=dict)),
                ("opened_at", models.DateTimeField()),
                ("last_seen_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="promotion_findings",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["-rank", "opened_at"],
                "indexes": [
                    models.Index(fields=["cluster", "closed_at"], name="promotion_finding_open")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at", None)),
                        fields=("cluster", "code", "subject"),
                        name="one_open_promotion_finding",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PromotionPolicy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("exact", "Exactly this topic"),
                            ("glob", "A glob: orders.*"),
                            ("regex", "A regular expression over the whole name"),
                        ],
                        default="exact",
                        max_length=10,
                    ),
                ),
                ("pattern", models.CharField(max_length=249)),
                ("priority", models.PositiveIntegerField(default=0)),
                (
                    "policy",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "As the topic's placement says"),
                            ("under-min-isr", "The ISR is below min.insync.replicas"),
                            (
                                "under-replicated",
                                "The ISR is below the sync replicas of the placement",
                            ),
                            ("leader-is-observer", "An observer leads after an unclean election"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[("advise", "Advise"), ("act", "Act")],
                        default="advise",
                        max_length=10,
                    ),
                ),
                (
                    "actor",
                    models.CharField(
                        choices=[
                            ("fenced_standby", "Fenced standby broker"),
                            ("held_back_replica", "Held-back replica"),
                            ("reassign_to_spare", "Reassignment to a spare"),
                            ("relax_min_isr", "min.insync.replicas relaxed"),
                        ],
                        default="fenced_standby",
                        max_length=20,
                    ),
                ),
                ("allowed_brokers", models.JSONField(default=list)),
                ("cooldown_s", models.PositiveIntegerField(default=300)),
                ("hold_s", models.PositiveIntegerField(default=60)),
                ("note", models.CharField(blank=True, default="", max_length=300)),
                ("opted_in_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="promotion_policies",
                        to="clusters.cluster",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "opted_in_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("asked_with", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["cluster", "kind", "-priority", "pattern"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "kind", "pattern"),
                        name="one_promotion_policy_per_pattern",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PromotionAction",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("subject", models.CharField(max_length=300)),
                (
                    "trigger",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "As the topic's placement says"),
                            ("under-min-isr", "The ISR is below min.insync.replicas"),
                            (
                                "under-replicated",
                                "The ISR is below the sync replicas of the placement",
                            ),
                            ("leader-is-observer", "An observer leads after an unclean election"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                (
                    "actor",
                    models.CharField(
                        choices=[
                            ("fenced_standby", "Fenced standby broker"),
                            ("held_back_replica", "Held-back replica"),
                            ("reassign_to_spare", "Reassignment to a spare"),
                            ("relax_min_isr", "min.insync.replicas relaxed"),
                        ],
                        max_length=20,
                    ),
                ),
                ("topic", models.CharField(max_length=249)),
                ("partition", models.PositiveIntegerField()),
                ("broker", models.IntegerField(blank=True, null=True)),
                ("because", models.JSONField(default=list)),
                ("because_count", models.PositiveIntegerField(default=1)),
                ("keys", models.JSONField(default=list)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("advised", "Advised"),
                            ("planned", "Planned"),
                            ("asked", "Asked for"),
                            ("acting", "Acting"),
                            ("verified", "Promoted"),
                            ("revert_asked", "Revert asked for"),
                            ("reverting", "Reverting"),
                            ("reverted", "Reverted"),
                            ("lapsed", "No longer wanted"),
                            ("refused", "Refused"),
                            ("failed", "Failed"),
                        ],
                        default="advised",
                        max_length=12,
                    ),
                ),
                ("is_automatic", models.BooleanField(default=False)),
                ("code", models.CharField(blank=True, default="", max_length=40)),
                ("why", models.TextField(blank=True, default="")),
                ("todo", models.TextField(blank=True, default="")),
                ("data_at_risk", models.TextField(blank=True, default="")),
                ("how_to_demote", models.TextField(blank=True, default="")),
                ("warnings", models.JSONField(default=list)),
                ("candidates", models.JSONField(default=list)),
                ("expected_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("evidence", models.JSONField(default=dict)),
                ("plan", models.JSONField(default=dict)),
                ("outcome", models.JSONField(default=dict)),
                ("refusals", models.JSONField(default=list)),
                ("advised_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                ("planned_at", models.DateTimeField(blank=True, null=True)),
                ("asked_at", models.DateTimeField(blank=True, null=True)),
                ("acted_at", models.DateTimeField(blank=True, null=True)),
                ("verified_at", models.DateTimeField(blank=True, null=True)),
                ("revert_reason", models.CharField(blank=True, default="", max_length=300)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("claimed_by", models.CharField(blank=True, default="", max_length=100)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                (
                    "asked_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="promotion_actions",
                        to="clusters.cluster",
                    ),
                ),
                (
                    "reverted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="actions",
                        to="availability.promotionpolicy",
                    ),
                ),
                ("asked_with", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["-advised_at"],
                "indexes": [
                    models.Index(fields=["cluster", "state"], name="promotion_action_state"),
                    models.Index(
                        fields=["cluster", "-advised_at"], name="promotion_action_advised"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "advised",
                                    "planned",
                                    "asked",
                                    "acting",
                                    "revert_asked",
                                    "reverting",
                                    "verified",
                                ],
                            )
                        ),
                        fields=("cluster", "subject"),
                        name="one_live_promotion_per_subject",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("state__in", ["asked", "acting", "revert_asked", "reverting"])
                        ),
                        fields=("cluster",),
                        name="one_busy_promotion_per_cluster",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PromotionRound",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("succeeded_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("duration_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("failing_since", models.DateTimeField(blank=True, null=True)),
                ("error", models.TextField(blank=True, default="")),
                ("hint", models.TextField(blank=True, default="")),
                ("judged_count", models.PositiveIntegerField(default=0)),
                ("observers_in_isr", models.PositiveIntegerField(default=0)),
                ("actors", models.JSONField(default=list)),
                ("actors_at", models.DateTimeField(blank=True, null=True)),
                ("promoter", models.CharField(blank=True, default="", max_length=100)),
                ("promoter_seen_at", models.DateTimeField(blank=True, null=True)),
                ("promoter_problem", models.TextField(blank=True, default="")),
                ("memory", models.JSONField(default=dict)),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="promotion_round",
                        to="clusters.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PromotionStop",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("scope", models.CharField(max_length=20, unique=True)),
                ("is_on", models.BooleanField(default=False)),
                ("why", models.CharField(blank=True, default="", max_length=300)),
                ("at", models.DateTimeField()),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "cluster",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="promotion_stop",
                        to="clusters.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="StandbyEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at_ms", models.BigIntegerField()),
                ("loop_id", models.CharField(max_length=100)),
                ("broker", models.IntegerField()),
                ("kind", models.CharField(max_length=40)),
                ("detail", models.TextField(blank=True, default="")),
                ("promotion_id", models.CharField(blank=True, default="", max_length=100)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="standby_events",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["-at_ms", "-pk"],
                "indexes": [models.Index(fields=["cluster", "-at_ms"], name="standby_event_at")],
            },
        ),
        migrations.CreateModel(
            name="StandbyLease",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("holder", models.CharField(blank=True, default="", max_length=100)),
                ("token", models.PositiveBigIntegerField(default=0)),
                ("until_ms", models.BigIntegerField(default=0)),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="standby_lease",
                        to="clusters.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="StandbySign",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("loop_id", models.CharField(max_length=100)),
                ("at_ms", models.BigIntegerField()),
                ("seen", models.JSONField(default=dict)),
                ("problem", models.TextField(blank=True, default="")),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="standby_signs",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["loop_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "loop_id"), name="one_sign_per_standby_loop"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ControllerSite",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("node_id", models.IntegerField()),
                ("site", models.CharField(max_length=255)),
                ("changed_at", models.DateTimeField()),
                ("changed_by", models.CharField(blank=True, max_length=150)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="controller_sites",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["cluster", "node_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "node_id"), name="one_site_per_controller"
                    )
                ],
            },
        ),
    ]
