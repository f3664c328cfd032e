from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("availability", "0013_use_one_round")]

    operations = [
        migrations.AddField(
            model_name="promotionround",
            name="error_code",
            field=models.CharField(blank=True, default="", max_length=60),
        ),
    ]
