"""What a new database gets in place of 0001 to 0006; an older one goes through these."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("quorum", "0001_add_metadata_history"),
        ("quorum", "0002_add_retention_of_changes"),
        ("quorum", "0003_read_changes_in_order_of_effect"),
        ("quorum", "0004_tell_what_is_odd_about_elections"),
        ("quorum", "0005_keep_what_was_damaged"),
        ("quorum", "0006_keep_rights_of_requests"),
    ]

    initial = True

    dependencies = [
        ("clusters", "0002_find_group_offsets_by_topic"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="MetadataLog",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("title", models.CharField(blank=True, max_length=200)),
                (
                    "source",
                    models.CharField(
                        choices=[("fetch", "Followed"), ("poll", "Polled"), ("import", "Imported")],
                        default="fetch",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("start_offset", models.BigIntegerField(blank=True, null=True)),
                ("next_offset", models.BigIntegerField(default=0)),
                ("high_watermark", models.BigIntegerField(blank=True, null=True)),
                ("leader_epoch", models.IntegerField(blank=True, null=True)),
                ("last_at", models.DateTimeField(blank=True, null=True)),
                ("behind_ms", models.BigIntegerField(blank=True, null=True)),
                ("gaps", models.JSONField(default=list)),
                ("lost", models.TextField(blank=True)),
                ("heard_at", models.DateTimeField(blank=True, null=True)),
                ("failing_since", models.DateTimeField(blank=True, null=True)),
                ("error_code", models.CharField(blank=True, max_length=60)),
                ("error", models.TextField(blank=True)),
                ("hint", models.TextField(blank=True)),
                (
                    "cluster",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="metadata_log",
                        to="clusters.cluster",
                    ),
                ),
                ("pruned_below", models.BigIntegerField(blank=True, null=True)),
                ("judged_at", models.DateTimeField(blank=True, null=True)),
                ("damage", models.JSONField(default=list)),
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
                ("asked_with", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="MetadataSubject",
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
                            ("partition", "Partition"),
                            ("topic", "Topic"),
                            ("broker", "Broker"),
                            ("controller", "Controller"),
                            ("config", "Setting"),
                            ("feature", "Feature"),
                            ("quota", "Quota"),
                            ("acl", "ACL"),
                            ("producer_ids", "Producer ids"),
                            ("scram", "SCRAM credential"),
                            ("delegation_token", "Delegation token"),
                            ("anomaly", "Anomaly"),
                        ],
                        max_length=20,
                    ),
                ),
                ("key", models.CharField(max_length=600)),
                ("topic", models.CharField(blank=True, max_length=249)),
                ("topic_id", models.CharField(blank=True, max_length=32)),
                ("partition", models.IntegerField(blank=True, null=True)),
                ("broker", models.IntegerField(blank=True, null=True)),
                ("name", models.CharField(blank=True, max_length=600)),
                ("first_offset", models.BigIntegerField()),
                ("gone_offset", models.BigIntegerField(blank=True, null=True)),
                (
                    "log",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subjects",
                        to="quorum.metadatalog",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["log", "kind", "topic", "partition"], name="subject_by_topic"
                    ),
                    models.Index(fields=["log", "kind", "first_offset"], name="subject_by_offset"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("log", "kind", "key"), name="one_row_per_metadata_subject"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MetadataChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("offset", models.BigIntegerField()),
                ("number", models.PositiveIntegerField(default=0)),
                ("effective_offset", models.BigIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("partition", "Partition"),
                            ("topic", "Topic"),
                            ("broker", "Broker"),
                            ("controller", "Controller"),
                            ("config", "Setting"),
                            ("feature", "Feature"),
                            ("quota", "Quota"),
                            ("acl", "ACL"),
                            ("producer_ids", "Producer ids"),
                            ("scram", "SCRAM credential"),
                            ("delegation_token", "Delegation token"),
                            ("anomaly", "Anomaly"),
                        ],
                        max_length=20,
                    ),
                ),
                ("type", models.CharField(max_length=60)),
                ("epoch", models.IntegerField()),
                ("at", models.DateTimeField()),
                ("is_dated", models.BooleanField(default=True)),
                ("topic", models.CharField(blank=True, max_length=249)),
                ("topic_id", models.CharField(blank=True, max_length=32)),
                ("partition", models.IntegerField(blank=True, null=True)),
                ("broker", models.IntegerField(blank=True, null=True)),
                ("cause", models.CharField(blank=True, max_length=60)),
                ("election", models.CharField(blank=True, max_length=40)),
                ("is_unclean", models.BooleanField(default=False)),
                ("is_removed", models.BooleanField(default=False)),
                ("state", models.JSONField(default=dict)),
                (
                    "log",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="changes",
                        to="quorum.metadatalog",
                    ),
                ),
                (
                    "subject",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="changes",
                        to="quorum.metadatasubject",
                    ),
                ),
            ],
            options={
                "ordering": ["-offset", "number"],
                "indexes": [
                    models.Index(fields=["subject", "effective_offset"], name="change_of_subject"),
                    models.Index(fields=["log", "kind", "offset"], name="change_by_kind"),
                    models.Index(fields=["log", "topic", "offset"], name="change_by_topic"),
                    models.Index(
                        condition=models.Q(("broker__isnull", False)),
                        fields=["log", "broker", "offset"],
                        name="change_by_broker",
                    ),
                    models.Index(fields=["log", "type", "offset"], name="change_by_type"),
                    models.Index(fields=["log", "at"], name="change_by_time"),
                    models.Index(
                        fields=["log", "effective_offset", "offset", "number"],
                        name="change_by_effect",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("log", "offset", "number"), name="one_row_per_metadata_change"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="QuorumFinding",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("code", models.CharField(max_length=40)),
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
                ("subject", models.CharField(blank=True, max_length=200)),
                ("sentence", models.TextField()),
                ("todo", models.TextField(blank=True)),
                ("evidence", models.JSONField(default=dict)),
                ("opened_at", models.DateTimeField()),
                ("last_seen_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "log",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="findings",
                        to="quorum.metadatalog",
                    ),
                ),
            ],
            options={
                "ordering": ["-rank", "opened_at"],
                "indexes": [models.Index(fields=["log", "closed_at"], name="quorum_finding_open")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at", None)),
                        fields=("log", "code", "subject"),
                        name="one_open_quorum_finding",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="QuorumStatus",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("described_at", models.DateTimeField(blank=True, null=True)),
                ("leader_id", models.IntegerField(blank=True, null=True)),
                ("leader_epoch", models.IntegerField(blank=True, null=True)),
                ("high_watermark", models.BigIntegerField(blank=True, null=True)),
                ("kraft_version", models.IntegerField(blank=True, null=True)),
                ("voter_count", models.PositiveIntegerField(default=0)),
                ("observer_count", models.PositiveIntegerField(default=0)),
                ("worst_lag", models.BigIntegerField(blank=True, null=True)),
                ("worst_lag_ms", models.BigIntegerField(blank=True, null=True)),
                ("replicas", models.JSONField(default=list)),
                ("memory", models.JSONField(default=dict)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("duration_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("failing_since", models.DateTimeField(blank=True, null=True)),
                ("error_code", models.CharField(blank=True, max_length=60)),
                ("error", models.TextField(blank=True)),
                ("hint", models.TextField(blank=True)),
                (
                    "log",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="status",
                        to="quorum.metadatalog",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="VoterSetEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("offset", models.BigIntegerField()),
                ("epoch", models.IntegerField()),
                ("at", models.DateTimeField()),
                ("voters", models.JSONField(default=list)),
                ("added", models.JSONField(default=list)),
                ("removed", models.JSONField(default=list)),
                ("moved", models.JSONField(default=list)),
                ("replaced", models.JSONField(default=list)),
                ("is_committed", models.BooleanField(blank=True, null=True)),
                ("committed_at", models.DateTimeField(blank=True, null=True)),
                ("is_static", models.BooleanField(default=False)),
                ("anomalies", models.JSONField(default=list)),
                (
                    "log",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="voter_sets",
                        to="quorum.metadatalog",
                    ),
                ),
            ],
            options={
                "ordering": ["offset"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("log", "offset"), name="one_voter_set_per_offset"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Election",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("offset", models.BigIntegerField()),
                ("epoch", models.IntegerField()),
                ("at", models.DateTimeField()),
                ("leader_id", models.IntegerField()),
                ("voters", models.JSONField(default=list)),
                ("granting", models.JSONField(default=list)),
                ("gap_ms", models.BigIntegerField(blank=True, null=True)),
                ("anomalies", models.JSONField(default=list)),
                (
                    "log",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="elections",
                        to="quorum.metadatalog",
                    ),
                ),
                ("is_in_storm", models.BooleanField(default=False)),
                ("is_silence", models.BooleanField(default=False)),
                ("skipped_epochs", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["offset"],
                "indexes": [models.Index(fields=["log", "at"], name="election_at")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("log", "offset"), name="one_election_per_offset"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ControllerSilence",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("from_offset", models.BigIntegerField()),
                ("to_offset", models.BigIntegerField()),
                ("from_at", models.DateTimeField()),
                ("to_at", models.DateTimeField()),
                (
                    "log",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="silences",
                        to="quorum.metadatalog",
                    ),
                ),
            ],
            options={
                "ordering": ["to_offset"],
                "indexes": [models.Index(fields=["log", "to_at"], name="silence_at")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("log", "to_offset"), name="one_silence_per_offset"
                    )
                ],
            },
        ),
    ]
