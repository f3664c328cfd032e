"""The database itself keeps the audit trail as it was written, whatever the application does.

SQLite refuses changes only: Django empties its tables by DELETE when it resets a test database.
"""

from django.db import migrations

TABLE = "accounts_auditentry"
FUNCTION = """
CREATE FUNCTION accounts_auditentry_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$
"""
POSTGRESQL = (
    FUNCTION,
    f"CREATE TRIGGER accounts_auditentry_stays BEFORE UPDATE OR DELETE ON {TABLE} "
    "FOR EACH ROW EXECUTE FUNCTION accounts_auditentry_stays()",
)
POSTGRESQL_BACK = (
    f"DROP TRIGGER IF EXISTS accounts_auditentry_stays ON {TABLE}",
    "DROP FUNCTION IF EXISTS accounts_auditentry_stays()",
)
SQLITE = (
    f"CREATE TRIGGER accounts_auditentry_stays BEFORE UPDATE ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END",
)
SQLITE_BACK = ("DROP TRIGGER IF EXISTS accounts_auditentry_stays",)


def _run(schema_editor, statements):
    for statement in statements.get(schema_editor.connection.vendor, ()):
        schema_editor.execute(statement)


def guard(apps, schema_editor):
    _run(schema_editor, {"postgresql": POSTGRESQL, "sqlite": SQLITE})


def release(apps, schema_editor):
    _run(schema_editor, {"postgresql": POSTGRESQL_BACK, "sqlite": SQLITE_BACK})


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_add_audit_trail"),
    ]

    operations = [
        migrations.RunPython(guard, release),
    ]
