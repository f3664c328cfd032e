"""The page of the designer: requirements in, a placement out, with simulated failures and commands."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.availability.designer.forms import DesignForm, initial_of
from console.availability.page_context import around_cluster, find_cluster
from console.availability.placements import equivalents
from console.availability.placements.forms import as_text
from console.availability.what_if.cluster_models import snapshot_of
from console.clusters import queries as clusters
from console.clusters.models import Cluster
from console.frame.pages.render import render_page
from console.frame.security.access import page
from jobs.availability.designer.design import design
from jobs.availability.designer.model import Design
from jobs.availability.designer.requirements import DesignRequirements, ImpossibleRequirements
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.numbers import format_count


@require_safe
@page("view", clusters.where)
def designer_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Show a placement that meets the requirements, or what is possible; nothing is changed."""
    cluster = find_cluster(alias)
    is_asked = "sites" in request.GET
    start = initial_of(snapshot_of(cluster))
    form = DesignForm({**start, **request.GET.dict()} if is_asked else None, initial=start)
    found = _try_design(cluster, form) if is_asked and form.is_valid() else None
    context: dict[str, Any] = {
        **around_cluster(request, cluster, "designer"),
        "form": form,
        "equivalents": equivalents.of_designer(),
    }
    if found is not None:
        reasons = [(_SUBJECTS[one.subject], one.sentence) for one in found.reasons]
        context |= {"design": found, "reasons": reasons, "facts": _facts(found)}
        context |= _next_addresses(cluster, found)
    return render_page(request, "availability/designer/page.html", context)


def tools_of(cluster: Cluster) -> KafkaTools:
    """Return how commands reach the cluster; a secured one needs a file that only the operator has."""
    is_plain = cluster.security_protocol == "PLAINTEXT"
    config = "" if is_plain else "client.properties"
    return KafkaTools(bootstrap_server=cluster.bootstrap_servers, command_config=config)


def _try_design(cluster: Cluster, form: DesignForm) -> Design | None:
    known = clusters.get_topic(cluster, form.named_topic)
    form.check_topic(known)
    if form.errors:
        return None
    try:
        return design(DesignRequirements(**form.requirements(known)), tools_of(cluster))
    except ImpossibleRequirements as impossible:
        form.take_errors(impossible.problems)
        return None


def _facts(found: Design) -> list[dict[str, Any]]:
    placement = found.placement
    is_survived = all(one.is_writable for one in found.survives if one.loss.startswith("site"))
    return [
        {
            "label": "Replicas",
            "value": format_count(placement.sync_count),
            "note": "in the ISR",
            "definition": "Sync replicas: they acknowledge writes with acks=all.",
        },
        {
            "label": "Observers",
            "value": format_count(placement.observer_count),
            "note": placement.policy.value if placement.observers else "none",
            "definition": "Replicas that stay outside the ISR until they are promoted.",
        },
        {
            "label": "min.insync.replicas",
            "value": format_count(found.min_insync_replicas),
            "definition": "Replicas that must have a record before a write with acks=all is acknowledged.",
        },
        {
            "label": "Controllers",
            "value": format_count(found.voters),
            "note": "voters",
            "definition": "A majority must be alive for elections, ISR changes and promotions.",
        },
        {
            "label": "Survives any site failure",
            "value": "Yes" if is_survived else "No",
            "severity": "healthy" if is_survived else "warning",
            "definition": "Writes with acks=all continue without an operator after the loss of any one site.",
        },
    ]


_SUBJECTS = {
    "replicas": "Replicas",
    "min_insync_replicas": "min.insync.replicas",
    "observers": "Observers",
    "promotion_policy": "Promotion policy",
    "voters": "Controllers",
    "rto_s": "Recovery time",
}


def _next_addresses(cluster: Cluster, found: Design) -> dict[str, str]:
    """Return the addresses that simulate failures of the design, and that save it as a placement."""
    document = found.placement.as_json()
    topic = found.requirements.topic if found.requirements.topic != "TOPIC" else ""
    asked = {
        "kind": "exact" if topic else "glob",
        "pattern": topic or "*",
        "placement": json.dumps(document, separators=(",", ":")),
        "min_insync_replicas": str(found.min_insync_replicas),
    }
    saved = {"kind": "exact", "pattern": topic, "placement": as_text(document)}
    return {
        "what_if_url": f"{reverse('availability:what-if', args=[cluster.alias])}?{urlencode(asked)}",
        "save_url": f"{reverse('availability:new-placement', args=[cluster.alias])}?{urlencode(saved)}",
    }
