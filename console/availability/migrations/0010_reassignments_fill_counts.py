"""Min ISR is counted as Kafka's tool does, by the value as it is set; the brokers' own counts are beside it.

Samples of the past keep what they held, the partitions that could not be written.
"""

from collections import Counter

from django.db import migrations
from django.db.models import F

COUNTS = ("at_min_isr", "under_min_isr", "broker_at_min_isr", "broker_under_min_isr")


def _words(row, *, is_set):
    """Return the counts of a partition; `is_set`: compared with min.insync.replicas as it is set."""
    least, isr, leads = row.min_insync_replicas, len(row.isr), row.leader is not None
    asked = None if least is None else min(least, len(row.replicas))
    least = least if is_set else asked
    found = {
        "at_min_isr": isr == least,
        "offline": not leads,
        "under_min_isr": not leads or (least is not None and isr < least),
        "under_replicated": isr < len(row.replicas) - len(row.adding or ()),
        "broker_at_min_isr": is_set and leads and isr == asked,
        "broker_under_min_isr": is_set and leads and asked is not None and isr < asked,
    }
    return sorted(word for word, holds in found.items() if holds)


def _count(apps, *, is_set):
    brokers = apps.get_model("availability", "BrokerStatus").objects.exclude(rack="")
    racks = {(c, b): rack for c, b, rack in brokers.values_list("cluster", "broker_id", "rack")}
    statuses = apps.get_model("availability", "PartitionStatus").objects
    rollups = apps.get_model("availability", "Rollup").objects
    counted, changed = Counter(), []
    for row in statuses.iterator(2000):
        words = _words(row, is_set=is_set)
        row.counted_text = f"|{'|'.join(words)}|" if words else ""
        changed.append(row)
        places = {("cluster", ""), ("topic", row.topic)}
        places |= {("broker", str(broker)) for broker in row.replicas}
        known = {racks.get((row.cluster_id, broker), "") for broker in row.replicas}
        places |= {("rack", rack) for rack in known if rack}
        counted.update((row.cluster_id, *place, word) for place in places for word in words)
    statuses.bulk_update(changed, ["counted_text"], batch_size=400)
    found = list(rollups.all())
    for row in found:
        for name in COUNTS:
            setattr(row, name, counted[row.cluster_id, row.kind, row.name, name])
    rollups.bulk_update(found, COUNTS, batch_size=400)


def fill(apps, schema_editor):
    """Count again."""
    apps.get_model("availability", "CountSample").objects.update(unwritable=F("under_min_isr"))
    _count(apps, is_set=True)


def count_as_before(apps, schema_editor):
    """Count with the smaller one of min.insync.replicas and the number of replicas."""
    apps.get_model("availability", "CountSample").objects.update(under_min_isr=F("unwritable"))
    _count(apps, is_set=False)


class Migration(migrations.Migration):
    dependencies = [
        ("availability", "0009_reassignments"),
    ]

    operations = [
        migrations.RunPython(fill, count_as_before),
    ]
