"""Addresses of the frame itself."""

from __future__ import annotations

from django.urls import path

from console.frame.pages import navigation as pages

app_name = "frame"

urlpatterns = [
    path("search/", pages.search, name="search"),
    path("sidebar/", pages.sidebar, name="sidebar"),
]
