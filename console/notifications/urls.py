"""Addresses of the room of notifications."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "notifications"
urlpatterns: list[URLPattern] = []
