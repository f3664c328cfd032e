"""Every CSV link of every page answers the rows of its own table, with the columns that are shown."""

import csv
import html
import io
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.browser.world import make_person, make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

PAGES = {
    "clusters:list": [],
    "clusters:brokers": ["east"],
    "clusters:topics": ["east"],
    "clusters:topic": ["east", "orders"],
    "clusters:partitions": ["east"],
    "clusters:groups": ["east"],
    "clusters:group": ["east", "billing"],
    "replication:list": [],
    "replication:detail": ["flow"],
    "replication:partitions": ["flow"],
    "replication:runs": ["flow"],
    "quorum:list": [],
    "quorum:detail": ["east"],
    "quorum:voters": ["east"],
    "quorum:partitions": ["east"],
    "quorum:brokers": ["east"],
    "quorum:settings": ["east"],
    "quorum:state": ["east"],
    "quorum:log": ["east"],
    "runs:list": [],
    "schedules:list": [],
    "delivery:list": [],
    "notifications:routes": [],
    "notifications:channels": [],
    "accounts:people": [],
    "accounts:audit": [],
}
TABLE = re.compile(r'<div class="table" id="[^"]+" data-table>.*?</table>', re.DOTALL)
LINK = re.compile(r'<a class="btn" href="([^"]+)" download')
HEAD = re.compile(r'<th scope="col".*?>(.*?)</th>', re.DOTALL)
ROW = re.compile(r"<tr\b(?! class=\"table__none\")")


def words(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", markup)).strip()


@pytest.mark.parametrize("name", PAGES)
def test_export_has_the_rows_and_columns_of_its_table(client, name):
    flow = make_world(timezone.now())
    client.force_login(make_person())
    path = reverse(name, args=[flow.pk if arg == "flow" else arg for arg in PAGES[name]])
    tables = TABLE.findall(client.get(path).content.decode())
    assert tables
    for table in tables:
        answer = client.get(html.unescape(LINK.search(table)[1]))
        assert answer["Content-Type"].startswith("text/csv")
        text = b"".join(answer.streaming_content).decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text)))
        shown = [words(head) for head in HEAD.findall(table)]
        assert rows[0][: len(shown)] == shown
        assert all(head.endswith(": without a number") for head in rows[0][len(shown) :])
        assert len(rows) - 1 == len(ROW.findall(table[table.index("<tbody>") :]))
