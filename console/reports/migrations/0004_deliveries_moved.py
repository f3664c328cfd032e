"""Deliveries belong to the room `delivery`: the table stays."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0001_deliveries_moved"),
        ("reports", "0003_narrow_what_tokens_asked"),
    ]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name="Delivery")]
        )
    ]
