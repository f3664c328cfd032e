"""What a load balancer or a supervisor asks, without an account."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Say that this process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Say whether pages can be served: the database answers and has this version's tables."""
    try:
        problem = _missing_migrations()
    except DatabaseError:
        # The reason names hosts and users: it belongs into the log, not into an open answer.
        problem = "The database does not answer."
    if problem:
        return JsonResponse({"status": "not ready", "detail": problem}, status=503)
    return JsonResponse({"status": "ok"})


def _missing_migrations() -> str:
    executor = MigrationExecutor(connection)
    wanted = executor.loader.graph.leaf_nodes()
    return "Run: python manage.py migrate" if executor.migration_plan(wanted) else ""
