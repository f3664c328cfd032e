from django.db import migrations

COLUMNS = (
    "code", "severity", "rank", "subject", "sentence", "todo", "evidence", "opened_at", "last_seen_at",
    "closed_at",
)  # fmt: skip
WHERE, ABOUT = ("topic", "partition"), ("brokers", "trouble", "cause")
# What the columns have that a table did not have.
EMPTY = {"topic": "''", "partition": "NULL", "brokers": "'[]'", "trouble": "''", "cause": "''"}
# The tables of the rooms: kind, column of the scope, its name now, other columns, lengths of texts.
TABLES = {
    "quorum_quorumfinding": ("quorum", "log_id", (), {"code": 40, "subject": 200}),
    "replication_flowfinding": ("flow", "flow_id", WHERE, {"code": 40}),
    "availability_promotionfinding": (
        "observers", "cluster_id", (*WHERE, *ABOUT), {"subject": 300, "topic": 249},
    ),
}  # fmt: skip


def _names(connection, columns):
    return ", ".join(connection.ops.quote_name(name) for name in columns)


def take_findings(apps, schema_editor):
    """Copy the findings of the rooms, each room's in the order of their ids."""
    connection = schema_editor.connection
    for table, (kind, scope, more, _) in TABLES.items():
        names = _names(connection, (scope, *COLUMNS, *more))
        absent = [name for name in EMPTY if name not in more]
        others = "".join(f", {connection.ops.quote_name(name)}" for name in absent)
        values = "".join(f", {EMPTY[name]}" for name in absent)
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO findings_finding (kind, {names}{others}) "
                f"SELECT '{kind}', {names}{values} FROM {table} ORDER BY id"
            )


def give_findings_back(apps, schema_editor):
    """Copy findings to the tables of the rooms."""
    connection = schema_editor.connection
    for table, (kind, scope, more, lengths) in TABLES.items():
        columns = (scope, *COLUMNS, *more)
        names = _names(connection, columns)
        values = ", ".join(
            f"SUBSTR({name}, 1, {lengths[name]})" if name in lengths else _names(connection, [name])
            for name in columns
        )
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table} ({names}) "
                f"SELECT {values} FROM findings_finding WHERE kind = '{kind}' ORDER BY id"
            )
            cursor.execute(f"DELETE FROM findings_finding WHERE kind = '{kind}'")


class Migration(migrations.Migration):
    dependencies = [
        ("findings", "0001_initial"),
        ("availability", "0012_use_one_set_of_status_words"),
        ("quorum", "0007_use_one_set_of_status_words"),
        ("replication", "0026_use_one_set_of_status_words"),
    ]

    operations = [
        migrations.RunPython(take_findings, give_findings_back),
    ]
