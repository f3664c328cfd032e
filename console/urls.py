"""All addresses: pages by room, the API under `/api/v1/`, what probes ask."""

from __future__ import annotations

from django.urls import include, path

from console import probes
from console.accounts.own_pages import SignIn, SignOut

urlpatterns = [
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", SignOut.as_view(), name="logout"),
    path("frame/", include("console.frame.urls")),
    path("help/", include("console.frame.help.urls")),
    path("api/v1/", include("console.api_urls")),
    path("", include("console.metrics.urls")),
    # Each room's addresses begin with its own name.
    path("", include("console.accounts.urls")),
    path("", include("console.findings.urls")),
    path("", include("console.checks.urls")),
    path("", include("console.delivery.urls")),
    path("", include("console.notifications.urls")),
    path("", include("console.clusters.urls")),
    path("", include("console.replication.urls")),
    path("", include("console.quorum.urls")),
    path("", include("console.availability.urls")),
    path("", include("console.streams.urls")),
    path("", include("console.tracing.urls")),
    path("", include("console.runs.urls")),
    path("", include("console.schedules.urls")),
    path("", include("console.reports.urls")),
    path("", include("console.overview.urls")),
]

handler400 = "console.frame.pages.error_pages.bad_request"
handler403 = "console.frame.pages.error_pages.permission_denied"
handler404 = "console.frame.pages.error_pages.not_found"
handler500 = "console.frame.pages.error_pages.server_error"
