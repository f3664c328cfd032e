from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("quorum", "0007_use_one_set_of_status_words"),
    ]

    operations = [
        migrations.RenameField(
            model_name="quorumstatus",
            old_name="described_at",
            new_name="succeeded_at",
        ),
        migrations.AlterField(
            model_name="quorumstatus",
            name="error",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AlterField(
            model_name="quorumstatus",
            name="error_code",
            field=models.CharField(blank=True, default="", max_length=60),
        ),
        migrations.AlterField(
            model_name="quorumstatus",
            name="hint",
            field=models.TextField(blank=True, default=""),
        ),
    ]
