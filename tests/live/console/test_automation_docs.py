"""All examples of docs/automation.md, against a started console and real clusters."""

import pytest

from jobs.lab.traffic.fill import Filling, fill
from tests.automation import SIGN_IN, examples, run_examples

# The console's start and the shell may each take minutes on a busy machine.
pytestmark = pytest.mark.timeout(1500)
TOPIC = "automation-orders"


def test_every_example_does_what_the_document_says(running, east, west):
    fill(east.connection, TOPIC, Filling(500, partitions=1, seed=0))
    run_examples(
        examples(),
        {
            SIGN_IN["url"]: f"{running.url}api/v1",
            SIGN_IN["user"]: f"admin:{running.password}",
            "127.0.0.1:19092": east.bootstrap_servers,
            "127.0.0.1:19192": west.bootstrap_servers,
        },
    )
