from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("availability", "0012_use_one_set_of_status_words")]

    operations = [
        migrations.AddField(
            model_name="promotionround",
            name="error_code",
            field=models.CharField(blank=True, default="", max_length=60),
        ),
    ]
