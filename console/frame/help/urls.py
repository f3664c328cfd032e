"""Addresses of the help."""

from __future__ import annotations

from django.urls import path

from console.frame.help import pages

app_name = "help"

urlpatterns = [
    path("", pages.list_chapters, name="list"),
    path("files/<str:file_name>", pages.file, name="file"),
    path("<slug:chapter>/", pages.chapter, name="chapter"),
]
