"""Databases of every release open, and end with the tables that a new one has."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from console.clusters.models import Topic
from tests.console.making import NOW

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# The newest migration of each room, by release; 0.1.1 to 0.1.4 had those of 0.1.0, 0.3.0 those of 0.2.0.
OF_0_1 = {
    "accounts": "0006", "availability": "0007", "clusters": "0005", "frame": "0001", "quorum": "0003",
    "replication": "0017", "runs": "0002",
}  # fmt: skip
OF_0_2 = OF_0_1 | {"runs": "0004", "schedules": "0001"}
OF_0_4 = OF_0_2 | {"replication": "0018", "reports": "0001"}
OF_0_5 = OF_0_4 | {"streams": "0001"}
OLD_ID, KAFKAS_ID = "/oQyWsMsQS+po8kSreACEQ", "_oQyWsMsQS-po8kSreACEQ"

COLUMNS = """
    SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default
    FROM information_schema.columns WHERE table_schema = 'public'
"""
INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'"
CONSTRAINTS = """
    SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace
"""
TRIGGERS = "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"


@pytest.fixture
def fresh() -> Iterator[Any]:
    """Make empty databases; the newest one is the default one while the test runs."""
    own, made = connections["default"], []

    def fresh() -> BaseDatabaseWrapper:
        new = own.copy()
        if own.vendor == "postgresql":
            name = f"{own.settings_dict['NAME']}_{len(made)}"
            with own._nodb_cursor() as cursor:
                cursor.execute(f'CREATE DATABASE "{name}"')
        else:
            name = ":memory:"
        new.settings_dict = {**own.settings_dict, "NAME": name}
        made.append(new)
        connections["default"] = new
        return new

    yield fresh
    connections["default"] = own
    for one in made:
        one.close()
        if own.vendor == "postgresql":
            with own._nodb_cursor() as cursor:
                cursor.execute(f'DROP DATABASE "{one.settings_dict["NAME"]}"')


def executor_of(connection: BaseDatabaseWrapper, *, is_squashed: bool = True) -> MigrationExecutor:
    executor = MigrationExecutor(connection)
    if not is_squashed:
        executor.loader.replace_migrations = False
        executor.loader.build_graph()
    return executor


def migrate(connection: BaseDatabaseWrapper) -> None:
    """Migrate as `manage.py migrate` does."""
    executor = executor_of(connection)
    executor.loader.check_consistent_history(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    executor.check_replacements()


def targets_of(release: dict[str, str]) -> list[tuple[str, str]]:
    """Return the newest migrations of a release by their whole names."""
    newest = {(app, f"{number}_") for app, number in release.items()}
    own = sorted(
        (app, name)
        for app, name in MigrationLoader(None).disk_migrations
        if (app, name[:5]) in newest and "_squashed_" not in name
    )
    return [*own, ("sessions", "0001_initial")]


def tables_of(connection: BaseDatabaseWrapper) -> set[Any]:
    """Return everything that the schema has; of a table the order of columns does not count."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT type, name, sql FROM sqlite_master")
            return {(*of, *sorted((sql or "").split(", "))) for *of, sql in cursor.fetchall()}
        found: set[Any] = set()
        for text in (COLUMNS, INDEXES, CONSTRAINTS, TRIGGERS):
            cursor.execute(text)
            found.update(cursor.fetchall())
    return found


def plan_of(connection: BaseDatabaseWrapper) -> list[Any]:
    """Return what is left to do."""
    executor = executor_of(connection)
    return executor.migration_plan(executor.loader.graph.leaf_nodes())


@pytest.fixture
def newest(fresh: Any) -> BaseDatabaseWrapper:
    """A new database, which the squashed migrations made."""
    connection = fresh()
    migrate(connection)
    assert plan_of(connection) == []
    return connection


rarely = pytest.mark.campaign("migrations")


@pytest.mark.parametrize(
    "release",
    [
        pytest.param(OF_0_1, id="0.1"),
        pytest.param(OF_0_2, id="0.2", marks=rarely),
        pytest.param(OF_0_4, id="0.4", marks=rarely),
        pytest.param(OF_0_5, id="0.5"),
    ],
)
def test_a_database_of_a_release_gets_the_tables_of_a_new_one_and_its_rows_are_mended(
    fresh, newest, release
):
    connection = fresh()
    state = executor_of(connection, is_squashed=False).migrate(targets_of(release))
    cluster = state.apps.get_model("clusters", "Cluster").objects.create(
        alias="east", created_at=NOW
    )
    state.apps.get_model("clusters", "Topic").objects.create(
        cluster_id=cluster.pk, name="orders", topic_id=OLD_ID, partition_count=1,
        replication_factor=1, changed_at=NOW,
    )  # fmt: skip
    migrate(connection)
    assert tables_of(connection) == tables_of(newest)
    assert [one.topic_id for one in Topic.objects.all()] == [KAFKAS_ID]
    # With every replaced migration applied, the squashed ones are taken for applied.
    assert plan_of(connection) == []


def test_a_new_database_goes_back_to_nothing(newest):
    rooms = {app for app, name in executor_of(newest).loader.graph.nodes if app in OF_0_5}
    executor_of(newest).migrate([(room, None) for room in sorted(rooms)])
    left = {name for name in newest.introspection.table_names() if name.split("_")[0] in rooms}
    assert left == set()


@rarely
def test_a_new_database_goes_back_to_the_tables_of_a_release_and_forward_again(fresh, newest):
    as_new = tables_of(newest)
    connection = fresh()
    executor_of(connection, is_squashed=False).migrate(targets_of(OF_0_5))
    of_release = tables_of(connection)
    connections["default"] = newest
    executor_of(newest).migrate(targets_of(OF_0_5))
    assert tables_of(newest) == of_release
    migrate(newest)
    assert tables_of(newest) == as_new


def went_back(connection: BaseDatabaseWrapper, targets: list[tuple[str, str]]) -> Any:
    """Undo migrations and return the models as they are then."""
    executor_of(connection).migrate(targets)
    return executor_of(connection).loader.project_state(targets).apps


BEFORE_STATUS_WORDS = {
    "availability": "0001_squashed_0011", "quorum": "0001_squashed_0006",
    "replication": "0025_write_topic_ids_as_kafka_does", "runs": "0001_squashed_0005",
}  # fmt: skip
# Of the severities of 0.5 two are one now: the way back writes its highest for both.
OF_0_5_WORDS = {
    "severities": [("crit", 4), ("notice", 1), ("risk", 3), ("warn", 2)],
    "readiness": ["blocked", "caution", "ready"],
    "verdicts": ["block", "ok", "unknown", "warn"],
    "counts": {"ready": 2, "caution": 3},
    "states": ["CANCELLED", "ERRORED", "FAILED"],
    "codes": ["no_policy", "nobody_sends_heartbeats"],
}
NEW_WORDS = {
    "severities": [("critical", 4), ("critical", 4), ("info", 2), ("warning", 3)],
    "readiness": ["blocked", "ready", "warning"],
    "verdicts": ["failed", "passed", "unknown", "warning"],
    "counts": {"ready": 2, "warning": 3},
    "states": ["CRASHED", "FAILED", "STOPPED"],
    "codes": ["no_policy", "no_standby_heartbeats"],
}


def make_rows_of_0_5(apps: Any) -> None:
    cluster = apps.get_model("clusters", "Cluster").objects.create(alias="east", created_at=NOW)
    log = apps.get_model("quorum", "MetadataLog").objects.create(name="east", created_at=NOW)
    replication = {
        one.__name__: one.objects for one in apps.get_app_config("replication").get_models()
    }
    flow = replication["ReplicationFlow"].create(
        name="orders", source=cluster, target=cluster, topics=["orders"], created_at=NOW
    )
    seen = {"sentence": "-", "opened_at": NOW, "last_seen_at": NOW}
    promotions = apps.get_model("availability", "PromotionFinding").objects
    for word, rank in OF_0_5_WORDS["severities"]:
        level = {"severity": word, "rank": rank, "subject": word, **seen}
        apps.get_model("quorum", "QuorumFinding").objects.create(log=log, code="x", **level)
        replication["FlowFinding"].create(flow=flow, code="x", **level)
        promotions.create(cluster=cluster, code="x", **level)
    for code in OF_0_5_WORDS["codes"]:
        promotions.create(
            cluster=cluster, code=code, severity="crit", rank=4, closed_at=NOW, **seen
        )
    times = {"since": NOW, "updated_at": NOW}
    replication["FlowReadiness"].create(
        flow=flow, readiness="caution", found="caution", counts=OF_0_5_WORDS["counts"], **times
    )
    for word in OF_0_5_WORDS["readiness"]:
        both = {"readiness": word, "found": word, **times}
        replication["GroupReadiness"].create(flow=flow, group=word, **both)
        replication["TopicReadiness"].create(flow=flow, topic=word, **both)
        replication["ReadinessChange"].create(flow=flow, group=word, readiness=word, at=NOW)
    for word in OF_0_5_WORDS["verdicts"]:
        plan = replication["FailoverPlan"].create(
            flow=flow, name=word, verdict=word, created_at=NOW
        )
        replication["FailoverPlanGroup"].create(plan=plan, group="billing", verdict=word)
    for state in OF_0_5_WORDS["states"]:
        apps.get_model("runs", "Run").objects.create(
            kind="replicate", title="-", state=state, created_at=NOW, finished_at=NOW
        )


def words_in(apps: Any) -> list[dict[str, Any]]:
    """Return the stored words once for each table that has them."""
    of = {one._meta.object_name: one.objects for one in apps.get_models()}

    def words(table: str, column: str) -> list[Any]:
        return sorted(of[table].values_list(column, flat=True))

    kinds = {"QuorumFinding": "quorum", "FlowFinding": "flow", "PromotionFinding": "observers"}
    if "Finding" in of:
        of |= {table: of["Finding"].filter(kind=kind) for table, kind in kinds.items()}
    found = {"counts": of["FlowReadiness"].get().counts, "states": words("Run", "state")}
    found["codes"] = sorted({*words("PromotionFinding", "code")} - {"x"})
    readiness = [
        words(table, column)
        for table in ("GroupReadiness", "TopicReadiness")
        for column in ("readiness", "found")
    ]
    readiness.append(words("ReadinessChange", "readiness"))
    severities = [
        sorted(of[table].filter(code="x").values_list("severity", "rank")) for table in kinds
    ]
    verdicts = [words(table, "verdict") for table in ("FailoverPlan", "FailoverPlanGroup")]
    assert [readiness[0]] * 5 == readiness
    assert [severities[0]] * 3 == severities
    assert [verdicts[0]] * 2 == verdicts
    return found | {
        "readiness": readiness[0], "severities": severities[0], "verdicts": verdicts[0],
    }  # fmt: skip


def test_status_words_of_0_5_become_the_new_ones_and_are_written_again_on_the_way_back(fresh):
    connection = fresh()
    before = list(BEFORE_STATUS_WORDS.items())
    state = executor_of(connection).migrate(before)
    make_rows_of_0_5(state.apps)
    leaves = executor_of(connection).loader.graph.leaf_nodes()
    assert words_in(executor_of(connection).migrate(leaves).apps) == NEW_WORDS
    back = [("crit", 4), ("crit", 4), ("notice", 1), ("warn", 2)]
    assert words_in(went_back(connection, before)) == OF_0_5_WORDS | {"severities": back}


def test_when_a_flow_is_measured_next_moves_to_the_row_of_its_source_and_back(fresh):
    connection = fresh()
    before = [("replication", "0026_use_one_set_of_status_words")]
    apps = executor_of(connection).migrate(before).apps
    cluster = apps.get_model("clusters", "Cluster").objects.create(alias="east", created_at=NOW)
    flows = apps.get_model("replication", "ReplicationFlow").objects
    fields = {
        "source_id": cluster.pk,
        "target_id": cluster.pk,
        "topics": ["orders"],
        "created_at": NOW,
    }
    flows.create(name="new", **fields)
    flow = flows.create(name="orders", claimed_until=NOW, **fields)
    rounds = apps.get_model("replication", "FlowRound").objects
    for noun in ("positions", "source"):
        rounds.create(flow_id=flow.pk, noun=noun)
    after = [("replication", "0027_use_one_round")]
    rows = executor_of(connection).migrate(after).apps.get_model("replication", "FlowRound").objects
    claims = dict(rows.values_list("noun", "claimed_until"))
    assert claims == {"positions": None, "source": NOW}
    apps = executor_of(connection).migrate(before).apps
    rows = apps.get_model("replication", "ReplicationFlow").objects
    assert dict(rows.values_list("name", "claimed_until")) == {"new": None, "orders": NOW}


def test_notifications_in_the_outbox_are_removed_on_the_way_back(fresh):
    connection = fresh()
    executor = executor_of(connection)
    apps = executor.migrate(executor.loader.graph.leaf_nodes()).apps
    deliveries = apps.get_model("delivery", "Delivery").objects
    deliveries.create(source="notification", channel="alertmanager", address="-", created_at=NOW)
    apps = went_back(connection, [("delivery", "0001_deliveries_moved")])
    assert not apps.get_model("delivery", "Delivery").objects.exists()


SHARED = ("code", "severity", "rank", "subject", "sentence", "todo", "evidence", "opened_at")
SHARED += ("last_seen_at", "closed_at")
OF_FLOWS = (*SHARED, "flow_id", "topic", "partition")
OF_OBSERVERS = (*SHARED, "cluster_id", "topic", "partition", "brokers", "trouble", "cause")


def make_findings_of_0_5(apps: Any) -> None:
    """Make open and ended findings in the three tables; the log was imported, it has no cluster."""
    cluster = apps.get_model("clusters", "Cluster").objects.create(alias="east", created_at=NOW)
    log = apps.get_model("quorum", "MetadataLog").objects.create(name="_old", created_at=NOW)
    flow = apps.get_model("replication", "ReplicationFlow").objects.create(
        name="orders", source=cluster, target=cluster, topics=["orders"], created_at=NOW
    )
    for number, closed_at in enumerate((NOW, None, NOW)):
        subject = f"B\u00fcro \N{SNOWMAN} '{number}%"
        values = {
            "severity": "warn", "rank": 2, "subject": subject, "sentence": f"{subject}.", "todo": "-",
            "evidence": {"where": subject, "count": number}, "code": "x", "opened_at": NOW,
            "last_seen_at": NOW, "closed_at": closed_at,
        }  # fmt: skip
        place = {"topic": "orders", "partition": number or None}
        about = {"brokers": [number, 7], "trouble": "under_min_isr", "cause": "unknown"}
        apps.get_model("quorum", "QuorumFinding").objects.create(log=log, **values)
        apps.get_model("replication", "FlowFinding").objects.create(flow=flow, **place, **values)
        apps.get_model("availability", "PromotionFinding").objects.create(
            cluster=cluster, **place, **about, **values
        )


def stored(rows: Any, columns: tuple[str, ...]) -> list[Any]:
    return list(rows.order_by("pk").values_list(*columns))


def findings_of_rooms(apps: Any) -> list[list[Any]]:
    return [
        stored(apps.get_model("quorum", "QuorumFinding").objects, (*SHARED, "log_id")),
        stored(apps.get_model("replication", "FlowFinding").objects, OF_FLOWS),
        stored(apps.get_model("availability", "PromotionFinding").objects, OF_OBSERVERS),
    ]


def test_findings_of_three_tables_come_into_one_with_their_history_and_go_back(fresh):
    connection = fresh()
    before = list(BEFORE_STATUS_WORDS.items())
    state = executor_of(connection).migrate(before)
    make_findings_of_0_5(state.apps)
    of_0_5 = findings_of_rooms(state.apps)
    leaves = executor_of(connection).loader.graph.leaf_nodes()
    moved = executor_of(connection).migrate(leaves).apps.get_model("findings", "Finding").objects
    new_words = [[(row[0], "warning", 3, *row[3:]) for row in rows] for rows in of_0_5]
    assert [
        stored(moved.filter(kind="quorum"), (*SHARED, "log_id")),
        stored(moved.filter(kind="flow"), OF_FLOWS),
        stored(moved.filter(kind="observers"), OF_OBSERVERS),
    ] == new_words
    lacked = ("topic", "partition", "brokers", "trouble", "cause", "cluster_id", "flow_id")
    assert stored(moved.filter(kind="quorum"), lacked) == [("", None, [], "", "", None, None)] * 3
    assert findings_of_rooms(went_back(connection, before)) == of_0_5
