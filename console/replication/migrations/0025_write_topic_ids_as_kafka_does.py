"""Topic ids in Kafka's alphabet: what librdkafka wrote in the standard one is the same id, not another topic.

A flow whose known ids are in the other alphabet would take each of its topics for a recreated one. It is in the
room that depends on the others whose tables it changes: the migrations of rooms are squashed without a circle.
"""

from django.db import migrations
from django.db.models import F, Q, Value
from django.db.models.functions import Replace

# Neither letter is in a name of a topic, so that keys which hold a name stay as they are.
COLUMNS = (
    ("clusters", "Topic", "topic_id"),
    ("availability", "PartitionStatus", "topic_id"),
    ("availability", "PartitionStatus", "key"),
    ("availability", "SeveritySpan", "key"),
    ("availability", "OutOfSyncSpan", "key"),
    ("availability", "UncleanElection", "key"),
    ("availability", "PolledMoment", "key"),
    ("replication", "FlowTopic", "topic_id"),
    ("replication", "FlowReadiness", "checkpoints_topic_id"),
)
ALPHABET = str.maketrans("+/", "-_")


def write(apps, schema_editor):
    """Write all stored ids in the alphabet of Kafka."""
    for app, model, column in COLUMNS:
        rows = apps.get_model(app, model).objects
        rows = rows.filter(Q(**{f"{column}__contains": "+"}) | Q(**{f"{column}__contains": "/"}))
        plus = Replace(F(column), Value("+"), Value("-"))
        rows.update(**{column: Replace(plus, Value("/"), Value("_"))})
    for flow in apps.get_model("replication", "ReplicationFlow").objects.all():
        ids = {topic: text.translate(ALPHABET) for topic, text in flow.topic_ids.items()}
        if ids != flow.topic_ids:
            flow.topic_ids = ids
            flow.save(update_fields=["topic_ids"])


class Migration(migrations.Migration):
    dependencies = [
        ("replication", "0024_count_what_totals_do_not_know"),
        ("clusters", "0006_add_oauthbearer_and_key_password"),
        ("availability", "0007_remember_pruned_unclean_elections"),
    ]

    operations = [
        migrations.RunPython(write, migrations.RunPython.noop),
    ]
