"""Deliveries of reports are named after their report; backwards, those of other rooms are removed."""

from django.db import migrations
from django.db.models import OuterRef, Subquery


def fill(apps, schema_editor):
    delivery, run = apps.get_model("delivery", "Delivery"), apps.get_model("reports", "ReportRun")
    names = run.objects.filter(pk=OuterRef("run")).values("name")[:1]
    delivery.objects.filter(subject="").exclude(run=None).update(subject=Subquery(names))


def remove(apps, schema_editor):
    apps.get_model("delivery", "Delivery").objects.filter(run=None).delete()


class Migration(migrations.Migration):
    dependencies = [("delivery", "0002_messages_of_all_rooms")]
    operations = [migrations.RunPython(fill, remove)]
