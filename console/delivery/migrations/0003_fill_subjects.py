"""Deliveries of reports are named after their report."""

from django.db import migrations
from django.db.models import OuterRef, Subquery


def fill(apps, schema_editor):
    delivery, run = apps.get_model("delivery", "Delivery"), apps.get_model("reports", "ReportRun")
    names = run.objects.filter(pk=OuterRef("run")).values("name")[:1]
    delivery.objects.filter(subject="").exclude(run=None).update(subject=Subquery(names))


class Migration(migrations.Migration):
    dependencies = [("delivery", "0002_messages_of_all_rooms")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
