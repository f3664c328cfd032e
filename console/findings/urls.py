"""Addresses of the page of findings."""

from django.urls import path

from console.findings import pages

app_name = "findings"
urlpatterns = [path("findings/", pages.list_page, name="list")]
