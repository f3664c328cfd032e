"""Chapters of the help, and the chapter that each page of the console links."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.urls import reverse

# In reading order; each is the document of this name in docs/.
CHAPTERS = (
    "operate",
    "incidents",
    "checks",
    "streams",
    "tracing",
    "reports",
    "automation",
    "metrics",
    "security",
    "lab",
    "kafka_versions",
    "formats",
    "architecture",
)
# The first part of an address, and of some pages the last one too: the chapter and its section.
CHAPTER_OF_PAGE = {
    "": "operate",
    "findings": "operate#findings",
    "incidents": "operate#incidents",
    "checks": "checks",
    "checks/settings": "incidents#thresholds-and-exclusions",
    "checks/maintenance": "incidents#maintenance-windows",
    "notifications": "incidents",
    "clusters": "operate#kafka-versions",
    "replication": "operate#runtime-controls",
    "replication/checkpoints": "operate#failover-readiness",
    "replication/failover": "operate#failover-and-failback",
    "replication/findings": "operate#findings-of-a-flow",
    "quorum": "operate#kraft-quorum",
    "availability": "operate#availability",
    "availability/designer": "operate#replica-placement-and-failure-simulation",
    "availability/drills": "operate#observer-promotion",
    "availability/observers": "operate#standby-brokers",
    "availability/placements": "operate#replica-placement-and-failure-simulation",
    "availability/promotion": "operate#observer-promotion",
    "availability/what-if": "operate#replica-placement-and-failure-simulation",
    "streams": "streams",
    "reports": "reports",
    "reports/delivery": "operate#delivery-of-reports",
    "runs": "operate#analyses",
    "schedules": "operate#schedules",
    "people": "security#roles-and-permissions",
    "audit": "security#audit-log",
    "account": "security#service-tokens",
    "api": "automation#rest",
}


def docs_folder() -> Path:
    """Return the folder of the documents."""
    return Path(settings.ROOT) / "docs"


def help_address(path: str) -> str:
    """Return the address of the section of the help that explains the page at an address."""
    name, _, anchor = chapter_of(path).partition("#")
    return reverse("help:chapter", args=[name]) + (f"#{anchor}" if anchor else "")


def chapter_of(path: str) -> str:
    """Return the chapter, maybe with `#` and a section, that explains the page at an address."""
    parts = path.strip("/").split("/")
    pages = (f"{parts[0]}/{part}" for part in reversed(parts[1:]))
    found = next((page for page in pages if page in CHAPTER_OF_PAGE), parts[0])
    return CHAPTER_OF_PAGE.get(found, CHAPTERS[0])
