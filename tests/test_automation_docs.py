"""The examples of docs/automation.md are run as they stand there: real curl, a real server."""

import pytest

from tests.automation import SIGN_IN, Example, differences, examples, run_examples
from tests.console.making import NOW, make_cluster, make_run, make_topic
from tests.console.streams.making import make_streams

PASSWORD = "a-password-of-the-examples"


@pytest.fixture
def seeded(transactional_db, tmp_path):
    """What the examples that need Kafka would have made, and a run that is running."""
    from console.accounts.models import User

    User.objects.create_user("admin", password=PASSWORD, role="admin")
    east = make_cluster("east")
    make_cluster("west")
    make_topic(east, "automation-orders")
    make_streams(east)
    (tmp_path / "log.txt").write_text("one line\n")
    make_run(folder=str(tmp_path), reported_at=NOW)


@pytest.mark.usefixtures("seeded")
def test_the_examples_without_kafka_do_what_the_document_says(live_server):
    chosen = [example for example in examples() if not example.needs_kafka]
    run_examples(
        chosen, {SIGN_IN["url"]: f"{live_server.url}/api/v1", SIGN_IN["user"]: f"admin:{PASSWORD}"}
    )


def test_most_examples_need_no_kafka():
    assert len([e for e in examples() if not e.needs_kafka]) > 10
    assert [e for e in examples() if e.needs_kafka]


def test_an_example_that_does_something_else_fails():
    assert differences({"a": "...", "b": [1]}, {"a": 5, "b": [1, 2], "c": 0}) == []
    assert differences({"a": 1}, {"a": 2})
    with pytest.raises(AssertionError):
        run_examples([Example("false", None, None, needs_kafka=False)], {})
