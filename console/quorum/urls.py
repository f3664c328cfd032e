"""Addresses of the quorum pages."""

from django.urls import path

from console.quorum import pages
from console.quorum.advisor import pages as advisor_pages
from console.quorum.history import pages as history_pages
from console.quorum.history import state_pages
from console.quorum.log.import_pages import forget_page, import_page, read_page

app_name = "quorum"
_LOG = "quorum/<slug:alias>/"
urlpatterns = [
    path("quorum/", pages.list_page, name="list"),
    # No alias of a cluster and no imported log is called so.
    path("quorum/-/import/", import_page, name="import"),
    path("quorum/<slug:alias>/forget/", forget_page, name="forget"),
    path("quorum/<slug:alias>/read/", read_page, name="read"),
    path(_LOG, pages.detail_page, name="detail"),
    path(f"{_LOG}voters/", pages.voters_page, name="voters"),
    path(f"{_LOG}partitions/", history_pages.partitions_page, name="partitions"),
    path(f"{_LOG}brokers/", history_pages.brokers_page, name="brokers"),
    path(f"{_LOG}settings/", history_pages.settings_page, name="settings"),
    path(f"{_LOG}state/", state_pages.state_page, name="state"),
    path(f"{_LOG}advisor/", advisor_pages.advisor_page, name="advisor"),
    path(f"{_LOG}log/", history_pages.log_page, name="log"),
    path(f"{_LOG}records/<int:offset>/", pages.record_page, name="record"),
]
