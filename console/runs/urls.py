"""Addresses of the runs room."""

from django.urls import path

from console.runs import pages

app_name = "runs"
urlpatterns = [
    path("runs/", pages.list_page, name="list"),
    path("runs/<uuid:run_id>/", pages.detail_page, name="detail"),
    path("runs/<uuid:run_id>/cancel/", pages.cancel, name="cancel"),
]
