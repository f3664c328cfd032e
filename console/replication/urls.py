"""Addresses of the replication room."""

from django.urls import path

from console.replication import control_pages, pages

app_name = "replication"
urlpatterns = [
    path("replication/", pages.list_page, name="list"),
    path("replication/new/", pages.new_page, name="new"),
    path("replication/preview/", pages.preview, name="preview"),
    path("replication/<int:flow_id>/", pages.detail_page, name="detail"),
    path("replication/<int:flow_id>/partitions/", pages.partitions_page, name="partitions"),
    path("replication/<int:flow_id>/runs/", pages.runs_page, name="runs"),
    path("replication/<int:flow_id>/control/", control_pages.control_page, name="control"),
    path("replication/<int:flow_id>/pause/", control_pages.pause, name="pause"),
    path("replication/<int:flow_id>/resume/", control_pages.resume, name="resume"),
    path("replication/<int:flow_id>/restart/", control_pages.restart, name="restart"),
    path("replication/<int:flow_id>/settings/", pages.settings_page, name="settings"),
    path("replication/<int:flow_id>/start/", pages.start, name="start"),
    path("replication/<int:flow_id>/stop/", pages.stop, name="stop"),
    path("replication/<int:flow_id>/delete/", pages.delete, name="delete"),
    path("replication/<int:flow_id>/accept-topics/", pages.accept_topics, name="accept-topics"),
]
