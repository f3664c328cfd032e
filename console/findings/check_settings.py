"""Settings of checks as the rules of all rooms take them."""

from __future__ import annotations

from django.apps import apps

from jobs.checks.settings import Setting, Settings


def read_settings() -> Settings:
    """Return all settings; one query. Their model is in the room of checks."""
    rows = apps.get_model("checks", "CheckSetting")._default_manager.order_by("pk")
    return Settings.of(
        Setting(
            row.check_id,
            row.thresholds,
            row.cluster_id,
            row.flow_id,
            row.topic_pattern,
            row.group_pattern,
            row.is_excluded,
        )
        for row in rows
    )
