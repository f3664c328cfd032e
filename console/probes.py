"""What a load balancer or a supervisor asks, without an account."""

from __future__ import annotations

from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.frame.brief_writes import brief_write
from console.frame.pages.error_pages import RETRY_AFTER_S

# Writers follow each other all the time: only who waits this long finds the database taken.
READY_WITHIN_MS = 2000
_SAME_ROW = (
    "UPDATE django_migrations SET app = app WHERE id = (SELECT MAX(id) FROM django_migrations)"
)


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Say that this process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Say whether pages can be served: the database takes writes and has this version's tables."""
    try:
        problem = _missing_migrations() or _refused_write()
    except DatabaseError:
        # The reason names hosts and users: it belongs into the log, not into an open answer.
        problem = "The database does not answer."
    if problem:
        content = {"status": "not ready", "detail": problem}
        return JsonResponse(content, status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
    return JsonResponse({"status": "ok"})


def _refused_write() -> str:
    """Return why nothing can be written now; changes nothing.

    What touches no row, and in SQLite a row that stays as it is, is not written: it passes on a full disk.
    """
    try:
        with brief_write(READY_WITHIN_MS), connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                # A number in the file's header that is there for applications; nothing else uses it.
                cursor.execute("PRAGMA user_version")
                cursor.execute(f"PRAGMA user_version = {(cursor.fetchone()[0] + 1) % 2**31}")
            else:
                cursor.execute(_SAME_ROW)
    except OperationalError:
        return "The database takes no writes: it is locked, full or read-only."
    return ""


def _missing_migrations() -> str:
    executor = MigrationExecutor(connection)
    wanted = executor.loader.graph.leaf_nodes()
    return "Run: python manage.py migrate" if executor.migration_plan(wanted) else ""
