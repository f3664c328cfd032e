"""Addresses of two rooms, one of them with pages inside."""

from __future__ import annotations

from django.urls import path

from tests.gallery.urls import gallery

urlpatterns = [path("", gallery), path("runs/", gallery), path("runs/<int:pk>/", gallery)]
