"""Settings of checks and maintenance windows, as tests want them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from console.findings.check_settings import CheckSetting
from console.findings.models import MaintenanceWindow

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def make_setting(check_id: str = "broker_down", **fields: Any) -> CheckSetting:
    values = {"thresholds": {"open_after_s": 60}, "changed_at": NOW} | fields
    return CheckSetting.objects.create(check_id=check_id, **values)


def make_window(**fields: Any) -> MaintenanceWindow:
    values = {"title": "Kafka update", "starts_at": NOW, "duration_s": 3600, "created_at": NOW}
    return MaintenanceWindow.objects.create(**{**values, "rrule": "FREQ=WEEKLY", **fields})
