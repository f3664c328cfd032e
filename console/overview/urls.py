"""Address of the first page."""

from django.urls import path

from console.overview import pages

app_name = "overview"
urlpatterns = [path("", pages.overview, name="overview")]
