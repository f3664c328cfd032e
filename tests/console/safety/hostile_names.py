"""A world in which every name, error and value that Kafka or its clients choose is hostile."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.apps import apps
from django.db import models

from console.clusters.models import Topic

# What a broker or a client of it chooses, or what is said about such things.
FIELDS = frozenset(
    [
        "host",
        "rack",
        "group_id",
        "group",
        "topic",
        "remote_topic",
        "assignor",
        "type",
        "error",
        "hint",
        "todo",
        "sentence",
        "reason",
        "problem",
        "lost",
        "seen_cluster_id",
        "topic_names",
        "message",
        "site",
        "why",
        "detail",
        "holder",
        "claimed_by",
        "path_reason",
        "failure",
        "control_problem",
        "worst_reason",
        "promoter",
        "promoter_problem",
        "subject",
        "title",
        "asked_by",
        "how_to_demote",
        "data_at_risk",
        "min_isr_source",
        "topic_id",
        "error_code",
        "client_rack",
    ]
)
# Names of other things: a flow's, a policy's, a run's subject says whose run it is.
KEPT = {
    "Run.subject",
    "Finding.subject",
    "GroupReadiness.reason",
    "FailoverPlanGroup.type",
    "BrokerStatus.source",
}
NAMES = {"Topic.name", "Rollup.name", "MetadataSubject.name"}
PAYLOADS = {
    "markup": "javascript:alert(1)//\"'><crosslog-x onmouseover=alert(1)></script></textarea>{{ 7|add:7 }}",
    "lines": "=cmd|' /C calc'!A0;a\n# HELP x\r\nx{y=\"z\"} 1\\\u2028\u0085Set-Cookie: a=b\r\n\r\n",
    "unseen": "../../%2e%2e/%00?a=b#c&d=e\x1b[31m\u202e\u2066\ufeff\x7f\x9b2J\ud7ff",
}


def make_hostile(payload: str) -> None:
    """Put the payload before every such value of every row."""
    for model in apps.get_models():
        if not model.__module__.startswith("console.") or ".accounts." in model.__module__:
            continue
        fields = [field for field in model._meta.fields if _is_chosen_by_others(model, field)]
        for row in model._default_manager.all() if fields else ():
            for field in fields:
                setattr(row, field.name, (payload + getattr(row, field.name))[: field.max_length])
            row.save(update_fields=[field.name for field in fields])
    Topic.objects.update(configs={payload: payload, "retention.ms": payload})


def _is_chosen_by_others(model: type[models.Model], field: Any) -> bool:
    if not isinstance(field, models.CharField | models.TextField) or field.choices:
        return False
    name = f"{model.__name__}.{field.name}"
    return name in NAMES or (field.name in FIELDS and name not in KEPT)


class Page(HTMLParser):
    """What stands on a page: its elements, with what its attributes lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.problems: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag.startswith("crosslog-x"):
            self.problems.append(f"an element {tag}")
        for name, value in attrs:
            if name.startswith("on"):
                self.problems.append(f"{tag} has {name}")
            is_link = name in {"href", "src", "action", "formaction", "hx-get", "hx-post"}
            if is_link and (value or "").strip().lower().startswith(("javascript:", "data:")):
                self.problems.append(f"{tag} leads to {(value or '')[:30]}")
