"""Signals between rooms, sent after the change is stored."""

from __future__ import annotations

from django.dispatch import Signal

# `cluster_id`: changes of its metadata log were stored, by the process that follows it.
metadata_stored = Signal()
