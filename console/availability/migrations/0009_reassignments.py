"""What a reassignment removes, whether there is one where it is not known, and the counts of the brokers."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("availability", "0008_keep_rights_of_requests"),
    ]

    operations = [
        migrations.AlterField(
            model_name="partitionstatus",
            name="adding",
            field=models.JSONField(blank=True, default=list, null=True),
        ),
        migrations.AddField(
            model_name="partitionstatus",
            name="removing",
            field=models.JSONField(default=list),
        ),
        *(
            migrations.AddField(
                model_name="rollup",
                name=name,
                field=models.IntegerField(default=0),
            )
            for name in ("broker_at_min_isr", "broker_under_min_isr", "unsure")
        ),
        migrations.AddField(
            model_name="countsample",
            name="unwritable",
            field=models.IntegerField(default=0),
        ),
    ]
