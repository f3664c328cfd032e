from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.failover.commands import apply_commands, planned_undo, undo_commands
from tests.jobs.replication.failover.making import GROUP, REMOTE, failover_evidence, plan_of

SERVER = "west.example:9092"


def test_the_file_and_the_command_set_what_was_planned():
    found = apply_commands(SERVER, plan_of().groups)
    assert found.csv == '"billing",east.orders,0,41\n'
    assert found.lines[-1] == (
        "kafka-consumer-groups.sh --bootstrap-server west.example:9092 --reset-offsets "
        "--group billing --from-file apply.csv --execute"
    )


def test_undoing_sets_what_was_there_and_deletes_what_was_not():
    other = TopicPartition("east.orders", 1)
    before = {GROUP: {REMOTE: CommittedOffset(7), other: CommittedOffset(None)}}
    found = undo_commands(SERVER, before)
    assert found.csv == '"billing",east.orders,0,7\n'
    assert found.lines[-1].endswith("--delete-offsets --group billing --topic east.orders:1")


def test_a_plan_says_how_it_would_be_undone():
    assert planned_undo(plan_of(failover_evidence(before=9)).groups) == {
        GROUP: {REMOTE: CommittedOffset(9)}
    }


def test_names_with_quotes_and_blanks_stay_one_name():
    (group,) = plan_of().groups
    odd = type(group)('a "b" c', items=group.items)
    found = apply_commands(SERVER, [odd])
    assert found.csv.startswith('"a ""b"" c",east.orders')
    assert "--group 'a \"b\" c'" in found.lines[0]


def test_without_anything_to_set_there_is_no_command():
    assert apply_commands(SERVER, []).lines == ()
