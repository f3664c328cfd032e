"""In which of Kafka's counts a partition is; they overlap, unlike its state."""

from django.db import migrations


def _counted(leader, replicas, isr, least):
    if least is not None:
        least = min(least, len(replicas))
    found = {
        "at_min_isr": len(isr) == least,
        "offline": leader is None,
        "under_min_isr": leader is None or (least is not None and len(isr) < least),
        "under_replicated": len(isr) < len(replicas),
    }
    return [word for word, holds in found.items() if holds]


def fill(apps, schema_editor):
    """Fill it for what is known, so that no count is 0 until a cluster answers."""
    partitions = apps.get_model("clusters", "Partition").objects
    changed = []
    for row in partitions.select_related("topic").iterator(2000):
        words = _counted(row.leader, row.replicas, row.isr, row.topic.min_insync_replicas)
        if words:
            row.counted_text = f"|{'|'.join(words)}|"
            changed.append(row)
    partitions.bulk_update(changed, ["counted_text"], batch_size=400)


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0004_add_kafkas_counts"),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
