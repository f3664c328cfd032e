"""Status over time: rounds, partitions, stretches, counts, brokers."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("clusters", "0003_add_source_of_min_isr"),
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
                ("adding", models.JSONField(default=list)),
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
    ]
