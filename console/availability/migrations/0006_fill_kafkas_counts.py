"""Counts are Kafka's, which overlap; what they were until now, one state per partition, stays beside them.

Samples of the past keep what they held: nobody can tell any more how the counts overlapped then.
"""

from collections import Counter

from django.db import migrations
from django.db.models import F

STATES = ("under_replicated", "at_min_isr", "under_min_isr")
COUNTS = (*STATES, "offline")


def _counted(leader, replicas, isr, least, adding):
    if least is not None:
        least = min(least, len(replicas))
    found = {
        "at_min_isr": len(isr) == least,
        "offline": leader is None,
        "under_min_isr": leader is None or (least is not None and len(isr) < least),
        "under_replicated": len(isr) < len(replicas) - adding,
    }
    return [word for word, holds in found.items() if holds]


def fill(apps, schema_editor):
    """Move what was counted to the states, and count as Kafka does."""
    rollups = apps.get_model("availability", "Rollup").objects
    rollups.update(**{f"state_{name}": F(name) for name in STATES})
    counted = _count_statuses(apps)
    changed = list(rollups.all())
    for row in changed:
        for name in COUNTS:
            setattr(row, name, counted[row.cluster_id, row.kind, row.name, name])
    rollups.bulk_update(changed, COUNTS, batch_size=400)


def _count_statuses(apps):
    """Set what each partition counts as; return the sums by cluster, kind and name of a roll-up."""
    brokers = apps.get_model("availability", "BrokerStatus").objects.exclude(rack="")
    racks = {(c, b): rack for c, b, rack in brokers.values_list("cluster", "broker_id", "rack")}
    statuses = apps.get_model("availability", "PartitionStatus").objects
    found, changed = Counter(), []
    for row in statuses.iterator(2000):
        words = _counted(
            row.leader, row.replicas, row.isr, row.min_insync_replicas, len(row.adding)
        )
        if not words:
            continue
        row.counted_text = f"|{'|'.join(words)}|"
        changed.append(row)
        places = {("cluster", ""), ("topic", row.topic)}
        places |= {("broker", str(broker)) for broker in row.replicas}
        known = {racks.get((row.cluster_id, broker), "") for broker in row.replicas}
        places |= {("rack", rack) for rack in known if rack}
        found.update((row.cluster_id, *place, word) for place in places for word in words)
    statuses.bulk_update(changed, ["counted_text"], batch_size=400)
    return found


def count_states(apps, schema_editor):
    """Count one state per partition again."""
    rollups = apps.get_model("availability", "Rollup").objects
    rollups.update(**{name: F(f"state_{name}") for name in STATES})


class Migration(migrations.Migration):
    dependencies = [
        ("availability", "0005_add_kafkas_counts"),
    ]

    operations = [
        migrations.RunPython(fill, count_states),
    ]
