"""Addresses of the streams room."""

from django.urls import path

from console.frame.pages import addresses  # noqa: F401  it makes <kafka:...> known
from console.streams import pages
from console.streams.application import pages as application_pages
from console.streams.lookup import pages as lookup_pages
from console.streams.rebalances import pages as rebalance_pages

app_name = "streams"
_APPLICATION = "streams/<slug:alias>/<kafka:application_id>/"
urlpatterns = [
    path("streams/", pages.list_page, name="list"),
    # Before the application: its id may hold slashes.
    path(f"{_APPLICATION}rebalances/", rebalance_pages.rebalances_page, name="rebalances"),
    path(f"{_APPLICATION}key-lookup/", lookup_pages.key_lookup_page, name="key-lookup"),
    path(f"{_APPLICATION}description/", application_pages.description_page, name="description"),
    path(_APPLICATION, application_pages.detail_page, name="detail"),
]
