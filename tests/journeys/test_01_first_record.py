"""From an empty console to the first copied record, in the browser."""

import re
import uuid

import pytest

from tests.live.records import produce, read_all
from tests.live.topics import make_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.journey, pytest.mark.browser]
RECORDS = 1_000


def test_two_clusters_and_a_flow_are_created_and_the_first_records_are_seen(started, page):
    topic = f"first-{uuid.uuid4().hex[:8]}"
    make_topic(started.east, topic, 2)
    written = [record for p in (0, 1) for record in produce(started.east, topic, RECORDS // 2, p)]
    log_in(page, started.console)
    for cluster in (started.east, started.west):
        register(page, started.console.url, cluster)
    eventually(lambda: started.get(f"topics/?cluster=east&name={topic}")["results"], 30)
    with started.deleted_at_end(create_flow(page, started.console.url, topic)) as flow:
        eventually(lambda: shown_positions(page, started.console.url, flow.id) == RECORDS, 60)
        copied = read_all(started.west, f"east.{topic}")
        assert [one.value for one in copied] == [one.value for one in written]


def log_in(page, console) -> None:
    page.goto(console.url)
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", console.password)
    page.click("form button[type=submit]")
    page.wait_for_url(lambda url: "login" not in url)


def register(page, url: str, cluster) -> None:
    page.goto(f"{url}clusters/new/")
    page.fill("[name=alias]", cluster.plan.alias)
    page.fill("[name=bootstrap_servers]", cluster.bootstrap_servers)
    page.click("main form button[type=submit]")
    page.wait_for_url(re.compile(f"clusters/{cluster.plan.alias}/"))


def create_flow(page, url: str, topic: str) -> int:
    """Fill the form of a new flow, read in its preview what it will do, and return the flow's id."""
    page.goto(f"{url}replication/new/")
    page.fill("[name=name]", topic)
    page.select_option("[name=source]", "east")
    page.select_option("[name=target]", "west")
    page.fill("[name=topics]", topic)
    page.locator("[name=topics]").blur()
    page.locator("#preview", has_text=f"east.{topic}").wait_for()
    page.click("main form button[type=submit]")
    page.wait_for_url(re.compile(r"replication/\d+/"))
    found = re.search(r"replication/(\d+)/", page.url)
    assert found is not None
    return int(found[1])


def shown_positions(page, url: str, flow: int) -> int:
    """Return the sum of the positions that the page of the flow's partitions shows."""
    page.goto(f"{url}replication/{flow}/partitions/?cols=topic&cols=position")
    shown = page.locator("main table tbody tr td:last-child").all_inner_texts()
    return sum(int(text.replace(",", "")) for text in shown if re.fullmatch(r"[\d,]+", text))
