"""The history of imported logs: folded once, from their archive."""

from __future__ import annotations

import logging
from datetime import datetime

from console.frame.processes import liveness
from console.quorum.log.archives import archive_of
from console.quorum.log.log_fold import LogFold
from console.quorum.log.store import save_portion
from console.quorum.models import MetadataLog
from jobs.quorum.log.folder import BadFolder

logger = logging.getLogger(__name__)


def fold_import(log_id: int, now: datetime) -> None:
    """Read an imported log into rows; what fails is told on its page."""
    log = MetadataLog.objects.filter(pk=log_id, cluster=None).first()
    if log is None:
        return
    try:
        for portion in LogFold(log.next_offset).begin(archive_of(log)):
            save_portion(log, portion, now)
            liveness.sign()
    except (BadFolder, OSError) as error:
        log.error, log.failing_since = f"It cannot be read: {error}", now
        logger.warning("imported log not read log=%s error=%s", log.name, error)
    else:
        log.error, log.failing_since, log.heard_at = "", None, now
    log.save(update_fields=["error", "failing_since", "heard_at"])
