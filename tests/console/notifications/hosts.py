"""Hosts that may be called, for tests of what is entered."""

import pytest

HOSTS = ["hooks.example.org", "hooks.slack.com", "api.telegram.org", "events.pagerduty.com"]


@pytest.fixture(autouse=True)
def hosts(settings):
    settings.OUTBOUND_HOSTS, settings.OUTBOUND_SCHEMES = HOSTS, ["https"]
    settings.WEBHOOK_KEY = ""
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "crosslog@example.org"
