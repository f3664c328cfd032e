from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("findings", "0002_take_findings_of_rooms"),
        ("availability", "0012_use_one_set_of_status_words"),
    ]

    operations = [
        migrations.DeleteModel(name="PromotionFinding"),
    ]
