"""Addresses of event tracing: extractors, below their cluster."""

from django.urls import path

from console.tracing.extractors import pages

app_name = "tracing"
_EXTRACTORS = "clusters/<slug:alias>/extractors/"
urlpatterns = [
    path(_EXTRACTORS, pages.list_page, name="extractors"),
    path(f"{_EXTRACTORS}new/", pages.new_page, name="new-extractor"),
    path(f"{_EXTRACTORS}<int:extractor_id>/", pages.extractor_page, name="extractor"),
    path(f"{_EXTRACTORS}<int:extractor_id>/remove/", pages.remove, name="remove-extractor"),
]
