"""The way through the page that explains a configuration: paste, explain, filter, another form."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.browser.world import make_person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TEXT = """clusters = east, west, north
east.bootstrap.servers = east:9092
west.bootstrap.servers = west:9092
north.bootstrap.servers = north:9092
west.ssl.key.password = hunter2
east->west.enabled = true
east->west.topics = orders, t.{1,3}
west->north.enabled = true
west->north.producer.linger.ms = 5
"""


@pytest.fixture
def explained(watched) -> Page:
    """The page with a configuration explained, beside the form that stays."""
    watched.sign_in(make_person())
    page = watched.open(reverse("replication:mirror-config"))
    page.get_by_role("textbox", name="Configuration").fill(TEXT)
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="Findings")).to_be_visible()
    return page


def test_a_pasted_configuration_is_explained_and_readable_for_all(watched, explained):
    expect(explained.get_by_text("a regex with a comma is split")).to_be_visible()
    expect(
        explained.get_by_role("cell", name="source.cluster.bootstrap.servers").first
    ).to_be_visible()
    assert "hunter2" not in explained.locator("#explained").inner_text()
    assert watched.look("replication-mirror-config-explained") == []


def test_words_filter_the_values_and_the_text_stays(explained):
    explained.get_by_label("Search values").fill("linger")
    explained.get_by_role("button", name="Explain").click()
    values = explained.locator("#explained tbody tr")
    expect(values).to_have_count(3)
    expect(explained.get_by_role("textbox", name="Configuration")).to_have_value(TEXT)


def test_garbage_is_told_and_the_text_stays(explained):
    explained.get_by_role("textbox", name="Configuration").fill("hello")
    explained.get_by_role("button", name="Explain").click()
    expect(explained.get_by_role("alert")).to_contain_text("clusters")
    expect(explained.get_by_role("textbox", name="Configuration")).to_have_value("hello")


def test_another_form_can_be_opened(explained):
    explained.locator("summary", has_text="strimzi").click()
    expect(explained.get_by_text("kind: KafkaMirrorMaker2").first).to_be_visible()
