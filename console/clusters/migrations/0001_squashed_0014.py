"""What a new database gets in place of 0001 to 0014; an older one goes through these."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("clusters", "0001_add_clusters_and_what_was_seen"),
        ("clusters", "0002_find_group_offsets_by_topic"),
        ("clusters", "0003_add_source_of_min_isr"),
        ("clusters", "0004_add_kafkas_counts"),
        ("clusters", "0005_fill_kafkas_counts"),
        ("clusters", "0006_add_oauthbearer_and_key_password"),
        ("clusters", "0008_reassignments"),
        ("clusters", "0009_count_what_totals_do_not_know"),
        ("clusters", "0010_list_groups_of_every_type"),
        ("clusters", "0011_show_lag_behind_open_transactions"),
        ("clusters", "0012_store_versions_of_brokers"),
        ("clusters", "0013_date_versions_of_brokers"),
        ("clusters", "0014_tell_what_is_not_known_of_partitions"),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Cluster",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("alias", models.CharField(max_length=63, unique=True)),
                ("bootstrap_servers", models.TextField()),
                (
                    "security_protocol",
                    models.CharField(
                        choices=[
                            ("PLAINTEXT", "PLAINTEXT"),
                            ("SSL", "SSL"),
                            ("SASL_PLAINTEXT", "SASL_PLAINTEXT"),
                            ("SASL_SSL", "SASL_SSL"),
                        ],
                        default="PLAINTEXT",
                        max_length=20,
                    ),
                ),
                (
                    "sasl_mechanism",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("PLAIN", "PLAIN"),
                            ("SCRAM-SHA-256", "SCRAM-SHA-256"),
                            ("SCRAM-SHA-512", "SCRAM-SHA-512"),
                            ("OAUTHBEARER", "OAUTHBEARER"),
                        ],
                        max_length=20,
                    ),
                ),
                ("sasl_username", models.CharField(blank=True, max_length=255)),
                ("sasl_password", models.CharField(blank=True, max_length=255)),
                ("ssl_ca", models.CharField(blank=True, max_length=255)),
                ("ssl_certificate", models.CharField(blank=True, max_length=255)),
                ("ssl_key", models.CharField(blank=True, max_length=255)),
                ("ssl_check_hostname", models.BooleanField(default=True)),
                ("cluster_id", models.CharField(blank=True, max_length=64)),
                ("seen_cluster_id", models.CharField(blank=True, max_length=64)),
                ("is_enabled", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField()),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                ("operations", models.JSONField(blank=True, null=True)),
                ("findings", models.JSONField(blank=True, default=list)),
                ("sasl_oauthbearer_scope", models.CharField(blank=True, max_length=255)),
                ("sasl_oauthbearer_token_url", models.CharField(blank=True, max_length=1000)),
                ("ssl_key_password", models.CharField(blank=True, max_length=255)),
                ("versions", models.JSONField(blank=True, null=True)),
                ("versions_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["alias"],
            },
        ),
        migrations.CreateModel(
            name="Group",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("group_id", models.CharField(max_length=1024)),
                ("state", models.CharField(blank=True, max_length=40)),
                ("type", models.CharField(blank=True, max_length=40)),
                ("assignor", models.CharField(blank=True, max_length=255)),
                ("member_count", models.PositiveIntegerField(blank=True, null=True)),
                ("coordinator", models.IntegerField(blank=True, null=True)),
                ("topic_count", models.PositiveIntegerField(default=0)),
                ("partition_count", models.PositiveIntegerField(default=0)),
                ("unknown_count", models.PositiveIntegerField(default=0)),
                ("lag", models.BigIntegerField(blank=True, null=True)),
                ("lag_ms", models.BigIntegerField(blank=True, null=True)),
                ("error", models.TextField(blank=True)),
                ("changed_at", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="groups",
                        to="clusters.cluster",
                    ),
                ),
                ("unknown_ms_count", models.PositiveIntegerField(default=0)),
                ("protocol", models.CharField(blank=True, default="", max_length=255)),
                ("lag_to_high_watermark", models.BigIntegerField(blank=True, null=True)),
            ],
            options={
                "ordering": ["group_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "group_id"), name="one_row_per_group"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="GroupOffset",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("topic", models.CharField(max_length=249)),
                ("partition", models.PositiveIntegerField()),
                ("is_assigned", models.BooleanField(default=False)),
                ("committed_offset", models.BigIntegerField(blank=True, null=True)),
                ("log_start_offset", models.BigIntegerField(blank=True, null=True)),
                ("end_offset", models.BigIntegerField(blank=True, null=True)),
                ("lag", models.BigIntegerField(blank=True, null=True)),
                ("next_timestamp_ms", models.BigIntegerField(blank=True, null=True)),
                (
                    "lag_status",
                    models.CharField(
                        choices=[
                            ("ok", "ok"),
                            ("no_commit", "no_commit"),
                            ("behind_log_start", "behind_log_start"),
                            ("ahead_of_end", "ahead_of_end"),
                            ("unknown", "unknown"),
                        ],
                        default="unknown",
                        max_length=20,
                    ),
                ),
                ("lag_ms", models.BigIntegerField(blank=True, null=True)),
                ("error", models.TextField(blank=True)),
                ("changed_at", models.DateTimeField()),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="offsets",
                        to="clusters.group",
                    ),
                ),
                ("start_offset", models.BigIntegerField(blank=True, null=True)),
                ("high_watermark", models.BigIntegerField(blank=True, null=True)),
                ("lag_to_high_watermark", models.BigIntegerField(blank=True, null=True)),
            ],
            options={
                "ordering": ["topic", "partition"],
                "indexes": [models.Index(fields=["topic"], name="group_offsets_by_topic")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("group", "topic", "partition"), name="one_row_per_group_offset"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Topic",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=249)),
                ("topic_id", models.CharField(blank=True, max_length=32)),
                ("is_internal", models.BooleanField(default=False)),
                ("partition_count", models.PositiveIntegerField(default=0)),
                ("replication_factor", models.PositiveIntegerField(blank=True, null=True)),
                ("min_insync_replicas", models.PositiveIntegerField(blank=True, null=True)),
                ("configs", models.JSONField(default=dict)),
                ("configs_read_at", models.DateTimeField(blank=True, null=True)),
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
                ("under_replicated_count", models.PositiveIntegerField(default=0)),
                ("offline_count", models.PositiveIntegerField(default=0)),
                ("record_count", models.BigIntegerField(blank=True, null=True)),
                ("error", models.TextField(blank=True)),
                ("changed_at", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="topics",
                        to="clusters.cluster",
                    ),
                ),
                ("min_isr_source", models.CharField(blank=True, max_length=40)),
                ("unsure_count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "name"), name="one_row_per_topic")
                ],
            },
        ),
        migrations.CreateModel(
            name="Partition",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("partition", models.PositiveIntegerField()),
                ("leader", models.IntegerField(blank=True, null=True)),
                ("replicas", models.JSONField(default=list)),
                ("isr", models.JSONField(default=list)),
                ("isr_count", models.PositiveIntegerField(default=0)),
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
                ("log_start_offset", models.BigIntegerField(blank=True, null=True)),
                ("end_offset", models.BigIntegerField(blank=True, null=True)),
                ("high_watermark", models.BigIntegerField(blank=True, null=True)),
                ("max_timestamp_ms", models.BigIntegerField(blank=True, null=True)),
                ("error", models.TextField(blank=True)),
                ("changed_at", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="partitions",
                        to="clusters.cluster",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="partitions",
                        to="clusters.topic",
                    ),
                ),
                ("counted_text", models.CharField(blank=True, max_length=60)),
                ("adding", models.JSONField(blank=True, default=list, null=True)),
                ("removing", models.JSONField(default=list)),
                ("open_transaction", models.JSONField(blank=True, null=True)),
                ("is_unsure", models.BooleanField(default=False)),
            ],
            options={
                "ordering": ["topic__name", "partition"],
                "indexes": [
                    models.Index(
                        fields=["cluster", "-severity", "id"], name="partition_worst_first"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("topic", "partition"), name="one_row_per_partition"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Broker",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("broker_id", models.IntegerField()),
                ("host", models.CharField(blank=True, max_length=255)),
                ("port", models.PositiveIntegerField(blank=True, null=True)),
                ("rack", models.CharField(blank=True, max_length=255)),
                ("is_live", models.BooleanField(default=True)),
                ("leader_count", models.PositiveIntegerField(default=0)),
                ("replica_count", models.PositiveIntegerField(default=0)),
                ("seen_at", models.DateTimeField(blank=True, null=True)),
                ("changed_at", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="brokers",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["broker_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "broker_id"), name="one_row_per_broker"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CollectionRound",
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
                            ("brokers", "Brokers"),
                            ("topics", "Topics"),
                            ("offsets", "Offsets"),
                            ("groups", "Groups"),
                        ],
                        max_length=10,
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
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("row_count", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rounds",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "noun"), name="one_round_per_cluster_noun"
                    )
                ],
            },
        ),
    ]
