"""What a new database gets in place of 0001 to 0024; an older one goes through these."""

import console.replication.flows.models
import django.db.models.deletion
import jobs.replication.copy.contract
import jobs.replication.failover.model
import jobs.replication.flow.spec
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("replication", "0001_add_flows_and_their_lag"),
        ("replication", "0002_add_the_engine"),
        ("replication", "0003_add_control_of_a_running_flow"),
        ("replication", "0004_add_time_held_up_by_quotas"),
        ("replication", "0005_say_who_copies"),
        ("replication", "0006_add_readiness_and_checkpoint_lag"),
        ("replication", "0007_add_checkpoints"),
        ("replication", "0008_add_findings_of_flows"),
        ("replication", "0009_add_failover_plans"),
        ("replication", "0010_add_custom_policies"),
        ("replication", "0011_add_freshness_of_offset_syncs"),
        ("replication", "0012_index_sorted_checkpoints"),
        ("replication", "0013_add_task_crashes"),
        ("replication", "0014_hold_changes_of_readiness"),
        ("replication", "0015_send_heartbeats_to_both_clusters"),
        ("replication", "0016_add_who_steers_flows"),
        ("replication", "0017_count_what_flows_copied"),
        ("replication", "0018_add_hours_of_lag"),
        ("replication", "0019_add_long_positions_finding"),
        ("replication", "0020_add_groups_beyond_the_end"),
        ("replication", "0021_bound_repeats_of_coming_commits"),
        ("replication", "0022_keep_groups_left_out_of_runs"),
        ("replication", "0023_keep_rights_of_requests"),
        ("replication", "0024_count_what_totals_do_not_know"),
    ]

    initial = True

    dependencies = [
        ("clusters", "0001_add_clusters_and_what_was_seen"),
        ("runs", "0001_add_runs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ReplicationFlow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("topics", models.JSONField(default=list)),
                ("topics_exclude", models.JSONField(default=list)),
                ("groups", models.JSONField(default=list)),
                ("groups_exclude", models.JSONField(default=list)),
                (
                    "policy",
                    models.CharField(
                        choices=[
                            ("default", "default"),
                            ("identity", "identity"),
                            ("custom", "custom"),
                        ],
                        default=jobs.replication.flow.spec.PolicyName["DEFAULT"],
                        max_length=20,
                    ),
                ),
                ("separator", models.CharField(default=".", max_length=10)),
                ("replication_factor", models.PositiveIntegerField(blank=True, null=True)),
                ("tasks", models.PositiveIntegerField(default=1)),
                (
                    "on_recreated",
                    models.CharField(
                        choices=[("stop", "stop"), ("from_start", "from_start")],
                        default=jobs.replication.flow.spec.OnRecreated["STOP"],
                        max_length=20,
                    ),
                ),
                ("is_wanted", models.BooleanField(default=False)),
                ("deletion_asked_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("topic_ids", models.JSONField(default=dict)),
                ("reset_topics", models.JSONField(default=list)),
                ("judged_run", models.UUIDField(blank=True, null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(blank=True, null=True)),
                ("failure", models.TextField(blank=True)),
                ("next_try_at", models.DateTimeField(blank=True, null=True)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("measured_at", models.DateTimeField(blank=True, null=True)),
                ("topics_sampled_at", models.DateTimeField(blank=True, null=True)),
                ("partition_count", models.PositiveIntegerField(blank=True, null=True)),
                ("states", models.JSONField(default=dict)),
                ("lag", models.BigIntegerField(blank=True, null=True)),
                ("lag_ms", models.BigIntegerField(blank=True, null=True)),
                ("rate_per_s", models.FloatField(blank=True, null=True)),
                ("worst_reason", models.TextField(blank=True)),
                ("worst_since", models.DateTimeField(blank=True, null=True)),
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
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="runs.run",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="flows_from_here",
                        to="clusters.cluster",
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="flows_to_here",
                        to="clusters.cluster",
                    ),
                ),
                ("client_rack", models.CharField(blank=True, default="", max_length=100)),
                ("commit_interval_ms", models.PositiveIntegerField(default=1000)),
                (
                    "config_properties_exclude",
                    models.JSONField(
                        default=console.replication.flows.models.excluded_config_properties
                    ),
                ),
                ("delete_target_overrides", models.BooleanField(default=False)),
                (
                    "delivery",
                    models.CharField(
                        choices=[
                            ("exactly_once", "exactly_once"),
                            ("at_least_once", "at_least_once"),
                        ],
                        default=jobs.replication.flow.spec.Guarantee["EXACTLY_ONCE"],
                        max_length=20,
                    ),
                ),
                ("grow_partitions", models.BooleanField(default=True)),
                (
                    "heartbeats",
                    models.CharField(
                        choices=[("target", "target"), ("both", "both"), ("none", "none")],
                        default=jobs.replication.flow.spec.HeartbeatsTo["BOTH"],
                        max_length=20,
                    ),
                ),
                (
                    "isolation_level",
                    models.CharField(
                        choices=[
                            ("read_committed", "read_committed"),
                            ("read_uncommitted", "read_uncommitted"),
                        ],
                        default=jobs.replication.flow.spec.IsolationLevel["READ_COMMITTED"],
                        max_length=20,
                    ),
                ),
                ("max_bytes_per_s", models.PositiveBigIntegerField(blank=True, null=True)),
                (
                    "offset_syncs",
                    models.CharField(
                        choices=[("target", "target"), ("source", "source"), ("none", "none")],
                        default=jobs.replication.flow.spec.SyncsLocation["TARGET"],
                        max_length=20,
                    ),
                ),
                (
                    "on_existing",
                    models.CharField(
                        choices=[("refuse", "refuse"), ("append", "append")],
                        default=jobs.replication.flow.spec.OnExisting["REFUSE"],
                        max_length=20,
                    ),
                ),
                (
                    "path",
                    models.CharField(
                        choices=[("auto", "auto"), ("record", "record")],
                        default=jobs.replication.flow.spec.CopyPath["AUTO"],
                        max_length=20,
                    ),
                ),
                ("sync_acls", models.BooleanField(default=False)),
                ("sync_configs", models.BooleanField(default=True)),
                ("control", models.JSONField(blank=True, default=dict)),
                ("control_problem", models.TextField(blank=True, default="")),
                ("eta_s", models.FloatField(blank=True, null=True)),
                ("held_back", models.JSONField(blank=True, default=dict)),
                ("topic_sync", models.JSONField(blank=True, default=dict)),
                (
                    "copied_by",
                    models.CharField(
                        choices=[("crosslog", "crosslog"), ("mirror_maker", "mirror_maker")],
                        default=jobs.replication.flow.spec.CopiedBy["CROSSLOG"],
                        max_length=20,
                    ),
                ),
                ("emit_checkpoints_interval_s", models.PositiveIntegerField(default=60)),
                ("sync_group_offsets", models.BooleanField(default=False)),
                ("sync_group_offsets_interval_s", models.PositiveIntegerField(default=60)),
                ("checkpoint_writing", models.JSONField(blank=True, default=dict)),
                ("custom_policy", models.JSONField(blank=True, default=dict)),
                ("task_crashes", models.JSONField(blank=True, default=list)),
                ("steered_by", models.JSONField(blank=True, default=dict)),
                ("counted", models.JSONField(blank=True, default=dict)),
                ("unknown_count", models.PositiveIntegerField(default=0)),
                ("unknown_ms_count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="LagSample",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("topic", models.CharField(blank=True, default="", max_length=249)),
                ("at_s", models.BigIntegerField()),
                ("lag", models.BigIntegerField(null=True)),
                ("lag_ms", models.BigIntegerField(null=True)),
                ("rate_per_s", models.FloatField(null=True)),
                (
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="samples",
                        to="replication.replicationflow",
                    ),
                ),
                ("unknown_count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["flow", "topic", "at_s"], name="lag_flow_topic_at"),
                    models.Index(fields=["at_s"], name="lag_at"),
                ],
            },
        ),
        migrations.CreateModel(
            name="FlowTopic",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("topic", models.CharField(max_length=249)),
                ("topic_id", models.CharField(blank=True, max_length=32)),
                ("remote_topic", models.CharField(blank=True, max_length=320)),
                ("partition_count", models.PositiveIntegerField(default=0)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("caught_up", "caught up"),
                            ("watched", "watched"),
                            ("copying", "copying"),
                            ("starting", "starting"),
                            ("paused", "paused"),
                            ("retrying", "retrying"),
                            ("stopped", "stopped"),
                            ("failed", "failed"),
                        ],
                        default=jobs.replication.copy.contract.CopyState["STARTING"],
                        max_length=20,
                    ),
                ),
                ("failed_count", models.PositiveIntegerField(default=0)),
                ("reason", models.TextField(blank=True)),
                ("problem", models.TextField(blank=True)),
                ("accepts_new", models.BooleanField(default=False)),
                ("lag", models.BigIntegerField(blank=True, null=True)),
                ("lag_ms", models.BigIntegerField(blank=True, null=True)),
                ("rate_per_s", models.FloatField(blank=True, null=True)),
                ("updated_at", models.DateTimeField()),
                (
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="flow_topics",
                        to="replication.replicationflow",
                    ),
                ),
                ("unknown_count", models.PositiveIntegerField(default=0)),
                ("unknown_ms_count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["topic"],
                "constraints": [
                    models.UniqueConstraint(fields=("flow", "topic"), name="one_row_per_flow_topic")
                ],
            },
        ),
        migrations.CreateModel(
            name="FlowRound",
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
                        choices=[
                            ("positions", "Positions"),
                            ("source", "Source offsets"),
                            ("syncs", "Offset syncs"),
                        ],
                        max_length=20,
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("duration_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("succeeded_at", models.DateTimeField(blank=True, null=True)),
                ("failing_since", models.DateTimeField(blank=True, null=True)),
                ("error_code", models.CharField(blank=True, max_length=60)),
                ("error", models.TextField(blank=True)),
                ("hint", models.TextField(blank=True)),
                (
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rounds",
                        to="replication.replicationflow",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("flow", "noun"), name="one_round_per_flow_noun")
                ],
            },
        ),
        migrations.CreateModel(
            name="FlowPartition",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("topic", models.CharField(max_length=249)),
                ("partition", models.PositiveIntegerField()),
                ("remote_topic", models.CharField(blank=True, max_length=320)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("caught_up", "caught up"),
                            ("watched", "watched"),
                            ("copying", "copying"),
                            ("starting", "starting"),
                            ("paused", "paused"),
                            ("retrying", "retrying"),
                            ("stopped", "stopped"),
                            ("failed", "failed"),
                        ],
                        default=jobs.replication.copy.contract.CopyState["STARTING"],
                        max_length=20,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("position", models.BigIntegerField(blank=True, null=True)),
                ("log_start_offset", models.BigIntegerField(blank=True, null=True)),
                ("end_offset", models.BigIntegerField(blank=True, null=True)),
                ("lag", models.BigIntegerField(blank=True, null=True)),
                ("lag_ms", models.BigIntegerField(blank=True, null=True)),
                ("rate_per_s", models.FloatField(blank=True, null=True)),
                ("last_timestamp_ms", models.BigIntegerField(blank=True, null=True)),
                ("head_timestamp_ms", models.BigIntegerField(blank=True, null=True)),
                ("path", models.CharField(blank=True, max_length=20)),
                ("duplicates", models.BigIntegerField(default=0)),
                ("findings", models.JSONField(default=list)),
                ("since", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="partitions",
                        to="replication.replicationflow",
                    ),
                ),
                ("batch_bytes", models.BigIntegerField(blank=True, null=True)),
                ("bytes_per_s", models.FloatField(blank=True, null=True)),
                ("commit_ms", models.FloatField(blank=True, null=True)),
                ("packed", models.BigIntegerField(default=0)),
                ("path_reason", models.TextField(blank=True)),
                ("retries", models.BigIntegerField(default=0)),
                ("throttled_ms", models.BigIntegerField(default=0)),
                ("quota_ms", models.BigIntegerField(default=0)),
            ],
            options={
                "ordering": ["topic", "partition"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("flow", "topic", "partition"), name="one_row_per_flow_partition"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CheckpointSeries",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("group", models.CharField(blank=True, default="", max_length=255)),
                ("topic", models.CharField(blank=True, default="", max_length=249)),
                ("partition", models.IntegerField(default=-1)),
                (
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="checkpoint_series",
                        to="replication.replicationflow",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("flow", "group", "topic", "partition"), name="one_checkpoint_series"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CheckpointSample",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("step_s", models.PositiveIntegerField(default=0)),
                ("at_s", models.BigIntegerField()),
                ("age_ms", models.BigIntegerField(null=True)),
                ("behind", models.BigIntegerField(null=True)),
                ("reread", models.BigIntegerField(null=True)),
                ("at_risk", models.BigIntegerField(null=True)),
                ("at_risk_ms", models.BigIntegerField(null=True)),
                ("rank", models.PositiveSmallIntegerField(null=True)),
                (
                    "series",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="samples",
                        to="replication.checkpointseries",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["step_s", "at_s"], name="checkpoint_step_at")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("series", "step_s", "at_s"), name="one_checkpoint_sample"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FlowReadiness",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "readiness",
                    models.CharField(
                        choices=[
                            ("not_covered", "not covered"),
                            ("ready", "ready"),
                            ("caution", "caution"),
                            ("unknown", "unknown"),
                            ("blocked", "blocked"),
                        ],
                        default="unknown",
                        max_length=20,
                    ),
                ),
                ("rank", models.PositiveSmallIntegerField(default=3)),
                ("evidence", models.JSONField(default=list)),
                ("rpo_records", models.BigIntegerField(null=True)),
                ("rpo_ms", models.BigIntegerField(null=True)),
                ("reread_lo", models.BigIntegerField(null=True)),
                ("reread_hi", models.BigIntegerField(null=True)),
                ("skipped_lo", models.BigIntegerField(null=True)),
                ("skipped_hi", models.BigIntegerField(null=True)),
                ("repeated_hi", models.BigIntegerField(null=True)),
                ("since", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("counts", models.JSONField(default=dict)),
                ("behind", models.BigIntegerField(null=True)),
                ("checkpoint_at", models.DateTimeField(null=True)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("checkpoints_read_to", models.BigIntegerField(null=True)),
                ("checkpoints_read_at", models.DateTimeField(null=True)),
                ("checkpoints_topic_id", models.CharField(blank=True, max_length=32)),
                ("settings_mark", models.CharField(blank=True, max_length=64)),
                ("succeeded_at", models.DateTimeField(null=True)),
                ("duration_ms", models.PositiveIntegerField(null=True)),
                ("failing_since", models.DateTimeField(null=True)),
                ("error", models.TextField(blank=True)),
                ("hint", models.TextField(blank=True)),
                ("sampled_groups_at", models.DateTimeField(null=True)),
                (
                    "flow",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answer",
                        to="replication.replicationflow",
                    ),
                ),
                ("differs_since", models.DateTimeField(null=True)),
                (
                    "found",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("not_covered", "not covered"),
                            ("ready", "ready"),
                            ("caution", "caution"),
                            ("unknown", "unknown"),
                            ("blocked", "blocked"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("found_since", models.DateTimeField(null=True)),
                ("repeated_coming_hi", models.BigIntegerField(null=True)),
                ("behind_unknown_count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="GroupReadiness",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "readiness",
                    models.CharField(
                        choices=[
                            ("not_covered", "not covered"),
                            ("ready", "ready"),
                            ("caution", "caution"),
                            ("unknown", "unknown"),
                            ("blocked", "blocked"),
                        ],
                        default="unknown",
                        max_length=20,
                    ),
                ),
                ("rank", models.PositiveSmallIntegerField(default=3)),
                ("evidence", models.JSONField(default=list)),
                ("rpo_records", models.BigIntegerField(null=True)),
                ("rpo_ms", models.BigIntegerField(null=True)),
                ("reread_lo", models.BigIntegerField(null=True)),
                ("reread_hi", models.BigIntegerField(null=True)),
                ("skipped_lo", models.BigIntegerField(null=True)),
                ("skipped_hi", models.BigIntegerField(null=True)),
                ("repeated_hi", models.BigIntegerField(null=True)),
                ("since", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("group", models.CharField(max_length=255)),
                ("state", models.CharField(blank=True, max_length=40)),
                ("topic_names", models.TextField(blank=True)),
                ("partition_count", models.PositiveIntegerField(default=0)),
                ("checkpoint_count", models.PositiveIntegerField(default=0)),
                ("reason", models.CharField(blank=True, max_length=20)),
                ("behind", models.BigIntegerField(null=True)),
                ("checkpoint_at", models.DateTimeField(null=True)),
                ("topics", models.JSONField(default=list)),
                ("partitions", models.JSONField(default=list)),
                (
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="group_answers",
                        to="replication.replicationflow",
                    ),
                ),
                ("differs_since", models.DateTimeField(null=True)),
                (
                    "found",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("not_covered", "not covered"),
                            ("ready", "ready"),
                            ("caution", "caution"),
                            ("unknown", "unknown"),
                            ("blocked", "blocked"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("found_since", models.DateTimeField(null=True)),
                ("repeated_coming_hi", models.BigIntegerField(null=True)),
                ("behind_unknown_count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["group"],
                "indexes": [
                    models.Index(fields=["flow", "-rank", "id"], name="group_answer_worst_first"),
                    models.Index(fields=["flow", "-behind", "id"], name="group_answer_behind"),
                    models.Index(
                        fields=["flow", "checkpoint_at", "id"], name="group_answer_by_age"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("flow", "group"), name="one_answer_per_flow_group"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ReadinessChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("group", models.CharField(blank=True, default="", max_length=255)),
                ("at", models.DateTimeField()),
                (
                    "readiness",
                    models.CharField(
                        choices=[
                            ("not_covered", "not covered"),
                            ("ready", "ready"),
                            ("caution", "caution"),
                            ("unknown", "unknown"),
                            ("blocked", "blocked"),
                        ],
                        default="unknown",
                        max_length=20,
                    ),
                ),
                (
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="readiness_changes",
                        to="replication.replicationflow",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["flow", "group", "at"], name="readiness_flow_group_at"),
                    models.Index(fields=["at"], name="readiness_at"),
                ],
            },
        ),
        migrations.CreateModel(
            name="TopicReadiness",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "readiness",
                    models.CharField(
                        choices=[
                            ("not_covered", "not covered"),
                            ("ready", "ready"),
                            ("caution", "caution"),
                            ("unknown", "unknown"),
                            ("blocked", "blocked"),
                        ],
                        default="unknown",
                        max_length=20,
                    ),
                ),
                ("rank", models.PositiveSmallIntegerField(default=3)),
                ("evidence", models.JSONField(default=list)),
                ("rpo_records", models.BigIntegerField(null=True)),
                ("rpo_ms", models.BigIntegerField(null=True)),
                ("reread_lo", models.BigIntegerField(null=True)),
                ("reread_hi", models.BigIntegerField(null=True)),
                ("skipped_lo", models.BigIntegerField(null=True)),
                ("skipped_hi", models.BigIntegerField(null=True)),
                ("repeated_hi", models.BigIntegerField(null=True)),
                ("since", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("topic", models.CharField(max_length=249)),
                ("group_count", models.PositiveIntegerField(default=0)),
                (
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="topic_answers",
                        to="replication.replicationflow",
                    ),
                ),
                ("differs_since", models.DateTimeField(null=True)),
                (
                    "found",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("not_covered", "not covered"),
                            ("ready", "ready"),
                            ("caution", "caution"),
                            ("unknown", "unknown"),
                            ("blocked", "blocked"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("found_since", models.DateTimeField(null=True)),
                ("repeated_coming_hi", models.BigIntegerField(null=True)),
            ],
            options={
                "ordering": ["topic"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("flow", "topic"), name="one_answer_per_flow_topic"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FlowWatch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("looked_at", models.DateTimeField(blank=True, null=True)),
                ("duration_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("drift_at", models.DateTimeField(blank=True, null=True)),
                ("memory", models.JSONField(default=dict)),
                ("pending", models.JSONField(default=list)),
                ("syncs", models.JSONField(default=dict)),
                ("faults", models.JSONField(default=dict)),
                (
                    "flow",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="watch",
                        to="replication.replicationflow",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FlowFinding",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "code",
                    models.CharField(
                        choices=[
                            ("not_moving", "not moving"),
                            ("stuck_partition", "stuck partition"),
                            ("retention_loss", "retention loss"),
                            ("source_recreated", "source recreated"),
                            ("source_cut", "source cut"),
                            ("target_recreated", "target recreated"),
                            ("target_cut", "target cut"),
                            ("task_failed", "task failed"),
                            ("task_not_assigned", "task not assigned"),
                            ("connector_paused", "connector paused"),
                            ("heartbeats_stale", "heartbeats stale"),
                            ("heartbeats_absent", "heartbeats absent"),
                            ("loop", "loop"),
                            ("same_cluster", "same cluster"),
                            ("group_ahead", "group ahead"),
                            ("group_beyond_end", "group beyond end"),
                            ("group_beyond_target_end", "group beyond target end"),
                            ("syncs_missing", "syncs missing"),
                            ("syncs_unreadable", "syncs unreadable"),
                            ("checkpoints_stale", "checkpoints stale"),
                            ("checkpoints_missing", "checkpoints missing"),
                            ("wrapped_records", "wrapped records"),
                            ("positions_not_compacted", "positions not compacted"),
                            ("partitions_differ", "partitions differ"),
                            ("replication_factor_differs", "replication factor differs"),
                            ("config_deleted_next", "config deleted next"),
                            ("config_differs", "config differs"),
                            ("acls_not_synced", "acls not synced"),
                            ("acls_only_on_target", "acls only on target"),
                            ("topic_left_out", "topic left out"),
                            ("topic_refused", "topic refused"),
                            ("topic_missing", "topic missing"),
                            ("broken_pattern", "broken pattern"),
                        ],
                        max_length=40,
                    ),
                ),
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
                ("subject", models.CharField(blank=True, max_length=600)),
                ("topic", models.CharField(blank=True, max_length=320)),
                ("partition", models.PositiveIntegerField(blank=True, null=True)),
                ("sentence", models.TextField()),
                ("todo", models.TextField(blank=True)),
                ("evidence", models.JSONField(default=dict)),
                ("opened_at", models.DateTimeField()),
                ("last_seen_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="flow_findings",
                        to="replication.replicationflow",
                    ),
                ),
            ],
            options={
                "ordering": ["-rank", "opened_at"],
                "indexes": [
                    models.Index(fields=["flow", "closed_at"], name="finding_of_flow"),
                    models.Index(fields=["closed_at"], name="finding_closed"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at", None)),
                        fields=("flow", "code", "subject"),
                        name="one_open_finding_per_subject",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FailoverPlan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                (
                    "direction",
                    models.CharField(
                        choices=[("failover", "failover"), ("failback", "failback")],
                        default=jobs.replication.failover.model.Direction["FAILOVER"],
                        max_length=10,
                    ),
                ),
                ("groups", models.JSONField(default=list)),
                ("topics", models.JSONField(default=list)),
                (
                    "untranslated",
                    models.CharField(
                        choices=[
                            ("refuse", "refuse"),
                            ("earliest", "earliest"),
                            ("leave", "leave"),
                        ],
                        default=jobs.replication.failover.model.Untranslated["REFUSE"],
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("reading", "Reading"),
                            ("ready", "Ready"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("error", models.TextField(blank=True, default="")),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
                ("document", models.JSONField(default=dict)),
                (
                    "verdict",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("ok", "ok"),
                            ("unknown", "unknown"),
                            ("warn", "warn"),
                            ("block", "block"),
                        ],
                        default="",
                        max_length=10,
                    ),
                ),
                ("group_count", models.PositiveIntegerField(default=0)),
                ("blocked_count", models.PositiveIntegerField(default=0)),
                ("item_count", models.PositiveIntegerField(default=0)),
                ("exact_count", models.PositiveIntegerField(default=0)),
                ("reread_most", models.BigIntegerField(blank=True, null=True)),
                ("at_risk", models.BigIntegerField(blank=True, null=True)),
                ("applied_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
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
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="failover_plans",
                        to="replication.replicationflow",
                    ),
                ),
                ("asked_with", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["-created_at"],
                "indexes": [
                    models.Index(fields=["flow", "-created_at"], name="plan_flow_created"),
                    models.Index(fields=["state"], name="plan_state"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("flow", "name"), name="one_plan_per_flow_and_name"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FailoverPlanGroup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("group", models.CharField(max_length=255)),
                ("type", models.CharField(blank=True, default="", max_length=20)),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("ok", "ok"),
                            ("unknown", "unknown"),
                            ("warn", "warn"),
                            ("block", "block"),
                        ],
                        max_length=10,
                    ),
                ),
                ("item_count", models.PositiveIntegerField(default=0)),
                ("exact_count", models.PositiveIntegerField(default=0)),
                ("reread_most", models.BigIntegerField(blank=True, null=True)),
                ("at_risk", models.BigIntegerField(blank=True, null=True)),
                ("document", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("planned", "Planned"),
                            ("applied", "Applied"),
                            ("undone", "Undone"),
                            ("refused", "Refused"),
                            ("failed", "Failed"),
                        ],
                        default="planned",
                        max_length=10,
                    ),
                ),
                ("message", models.TextField(blank=True, default="")),
                ("before", models.JSONField(blank=True, null=True)),
                ("written", models.JSONField(blank=True, null=True)),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="plan_groups",
                        to="replication.failoverplan",
                    ),
                ),
            ],
            options={
                "ordering": ["group"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("plan", "group"), name="one_row_per_plan_and_group"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FailoverRun",
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
                        choices=[("rehearsal", "rehearsal"), ("apply", "apply"), ("undo", "undo")],
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
                            ("partial", "Partial"),
                            ("refused", "Refused"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("groups", models.JSONField(default=list)),
                ("even_if_moved", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("confirmed_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("done_count", models.PositiveIntegerField(default=0)),
                ("bad_count", models.PositiveIntegerField(default=0)),
                ("error", models.TextField(blank=True, default="")),
                ("report", models.TextField(blank=True, default="")),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="failover_runs",
                        to="replication.failoverplan",
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
                ("left_out", models.JSONField(default=dict)),
                ("asked_with", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["-created_at"],
                "indexes": [models.Index(fields=["state"], name="failover_run_state")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        fields=("plan",),
                        name="one_live_run_per_plan",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FailoverRunGroup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("group", models.CharField(max_length=255)),
                ("state", models.CharField(max_length=10)),
                ("message", models.TextField(blank=True, default="")),
                ("document", models.JSONField(default=dict)),
                ("at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="run_groups",
                        to="replication.failoverrun",
                    ),
                ),
            ],
            options={
                "ordering": ["group"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "group"), name="one_row_per_run_and_group"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LagHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("topic", models.CharField(blank=True, default="", max_length=249)),
                ("at_s", models.BigIntegerField()),
                ("samples", models.PositiveIntegerField()),
                ("first_s", models.BigIntegerField()),
                ("last_s", models.BigIntegerField()),
                ("lag", models.BigIntegerField(null=True)),
                ("lag_at_s", models.BigIntegerField(null=True)),
                ("lag_ms", models.BigIntegerField(null=True)),
                ("lag_ms_at_s", models.BigIntegerField(null=True)),
                ("rate_per_s", models.FloatField(null=True)),
                (
                    "flow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lag_hours",
                        to="replication.replicationflow",
                    ),
                ),
                ("unknown_count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "indexes": [models.Index(fields=["at_s"], name="lag_hour_at")],
                "constraints": [
                    models.UniqueConstraint(fields=("flow", "topic", "at_s"), name="one_lag_hour")
                ],
            },
        ),
    ]
