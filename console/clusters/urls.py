"""Addresses of the clusters room."""

from django.urls import path

from console.clusters import pages, settings_pages
from console.clusters.mirror import pages as mirror_pages
from console.frame.pages import addresses  # noqa: F401  it makes <kafka:...> known

app_name = "clusters"
urlpatterns = [
    path("clusters/", pages.list_page, name="list"),
    path("clusters/new/", settings_pages.new_page, name="new"),
    path("clusters/<slug:alias>/", pages.detail_page, name="detail"),
    path("clusters/<slug:alias>/brokers/", pages.brokers_page, name="brokers"),
    path("clusters/<slug:alias>/topics/", pages.topics_page, name="topics"),
    path("clusters/<slug:alias>/topics/<kafka:name>/", pages.topic_page, name="topic"),
    path("clusters/<slug:alias>/partitions/", pages.partitions_page, name="partitions"),
    path("clusters/<slug:alias>/groups/", pages.groups_page, name="groups"),
    path("clusters/<slug:alias>/groups/<kafka:group_id>/", pages.group_page, name="group"),
    path("clusters/<slug:alias>/mirror/", mirror_pages.mirror_page, name="mirror"),
    path("clusters/<slug:alias>/settings/", settings_pages.settings_page, name="settings"),
    path("clusters/<slug:alias>/check/", settings_pages.check, name="check"),
    path("clusters/<slug:alias>/confirm/", settings_pages.confirm, name="confirm"),
    path("clusters/<slug:alias>/delete/", settings_pages.delete, name="delete"),
]
