"""Addresses of the first page, its charts, and recent events."""

from django.urls import path, re_path

from console.overview import pages

app_name = "overview"
urlpatterns = [
    path("", pages.overview, name="overview"),
    re_path(r"^overview/series/(?P<chart>flows|partitions)/$", pages.series, name="series"),
    path("events/", pages.events_page, name="events"),
]
