"""Real consumer groups that gain and lose a member, read from `__consumer_offsets`."""

import time
from functools import reduce

import pytest

from jobs.cluster.admin.groups import describe_groups
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import NotAuthorized
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.groups.rebalances import ANALYSIS, works_of
from jobs.spark.analyses.task import AnalysisTask
from tests.live.spark.analyses.conftest import Found, read
from tests.live.topics import new_topic
from tests.waiting import PATIENCE, eventually


@pytest.fixture
def rebalances(spark, tmp_path, east):
    """Ask for the rebalances of groups of `east`."""

    def ask(**arguments):
        folder = tmp_path / f"{time.monotonic_ns()}"
        folder.mkdir()
        resources = {"cluster": {"connection": east.connection.to_mapping()}}
        task = AnalysisTask(spark, folder, folder / "tables", folder / "histories", resources)
        given = checked_arguments(ANALYSIS, {"cluster": "east", **arguments})
        answer = ANALYSIS.run(task, given)
        document_of(ANALYSIS, given, answer, task.tables, 0.0)
        tables = {table.name: read(table, task) for table in ANALYSIS.tables}
        return Found(dict(answer.facts), answer.notes, tables)

    return ask


def has_negative_hash(text):
    """Say whether Java's hash of an ASCII text is below 0."""
    return reduce(lambda found, one: (31 * found + one) % 2**32, text.encode(), 0) >= 2**31


def live_group(client, topic, group, protocol):
    """Let a member join, another one join and leave, and the first one leave."""
    settings = {"group.id": group, **({"group.protocol": protocol} if protocol else {})}
    first, second = (client.consumer({**settings, "client.id": name}) for name in ("one", "two"))

    def have(*counts):
        """Poll until the members have so many partitions, and the coordinator knows it."""
        members = (first, second)[: len(counts)]

        def is_there():
            found = tuple(len(one.assignment()) for one in members if one.poll(0.1) or True)
            return found == counts and describe_groups(client, [group])[group].state == "Stable"

        eventually(is_there, 60)

    first.subscribe([topic])
    have(4)
    second.subscribe([topic])
    have(2, 2)
    second.close()
    have(4)
    first.close()
    eventually(lambda: describe_groups(client, [group])[group].state == "Empty")


@pytest.mark.parametrize(
    ("protocol", "written"), [(None, "classic"), ("consumer", "consumer")], ids=["classic", "848"]
)
def test_members_that_join_and_leave_are_told_with_what_moved(east, rebalances, protocol, written):
    topic = new_topic(east, 4)
    # A coordinator takes the absolute value of a hash: one of each sign.
    names = [f"r{n}-{topic}" for n in range(50)]
    groups = [
        next(one for one in names if has_negative_hash(one) is sign) for sign in (False, True)
    ]
    with ClusterClient(east.connection, timeout_s=30 * PATIENCE) as client:
        for group in groups:
            live_group(client, topic, group, protocol)
    for group in groups:
        found = rebalances(group=group)
        rows = sorted(found["rebalances"], key=lambda row: row["generation"])
        assert {row["protocol"] for row in rows} == {written}
        assert sum(row["joined"] or 0 for row in rows[1:]) >= 1
        assert (rows[-1]["reason"], rows[-1]["members"]) == ("emptied", 0)
        (told,) = found["groups"]
        assert (told["group"], told["joins"], told["members_now"]) == (group, 2, 0)
        assert told["leaves"] == 2
        clients = {row["client_id"]: row for row in found["members"]}
        assert clients.keys() == {"one", "two"}
        assert not any(row["is_flapping"] for row in found["members"])
        handed = {row["unit"] for row in found["moves"] if row["to"] and "two" in row["to"]}
        assert len(handed) == 2
        assert handed <= {f"{topic}-{number}" for number in range(4)}
        if written == "consumer":
            assert found.facts["longest_ms"] > 0
    both = rebalances(group=f"r*-{topic}")
    assert {row["group"] for row in both["groups"]} == set(groups)


def test_without_rights_on_the_topic_the_fault_says_which_are_needed(secure):
    limited = secure.connection(
        "SASL_PLAINTEXT", "PLAIN", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
    )
    with pytest.raises(NotAuthorized) as refused:
        works_of(limited, checked_arguments(ANALYSIS, {"cluster": "secure"}))
    assert "READ and DESCRIBE on __consumer_offsets" in refused.value.hint
