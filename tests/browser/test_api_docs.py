"""The page of the API under the console's policy: Swagger UI shows the schema, and reads can be tried."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


def test_the_page_of_the_api_shows_the_resources_in_both_themes(reader, site):
    reader.sign_in(site.person())
    page = reader.open("/api/v1/docs/")
    for theme, ink in (("light", "rgb(59, 65, 81)"), ("dark", "rgb(228, 230, 230)")):
        page.emulate_media(color_scheme=theme)
        # Swagger UI's colours change over 0.2 s.
        expect(page.locator("[data-tag=clusters]")).to_have_css("color", ink)
        with reader.unheard():
            assert violations(page, foreign="#api-docs") == []


def test_a_read_can_be_tried_with_the_session(reader, site):
    reader.sign_in(site.person())
    page = reader.open("/api/v1/docs/")
    page.locator("[data-tag=clusters]").click()
    page.locator("#operations-clusters-clusters_list .opblock-summary-control").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table .response .response-col_status")).to_contain_text(
        "200"
    )


def test_a_write_cannot_be_tried(reader, site):
    reader.sign_in(site.person())
    page = reader.open("/api/v1/docs/")
    page.locator("[data-tag=clusters]").click()
    page.locator("#operations-clusters-clusters_create .opblock-summary-control").click()
    expect(page.locator("#operations-clusters-clusters_create .opblock-body")).to_be_visible()
    expect(page.get_by_role("button", name="Try it out")).to_have_count(0)
