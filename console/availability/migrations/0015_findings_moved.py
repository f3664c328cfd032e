from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("findings", "0002_take_findings_of_rooms"),
        ("availability", "0014_advice_is_a_round"),
    ]

    operations = [
        migrations.DeleteModel(name="PromotionFinding"),
    ]
