"""What the REST views of the room share."""

from __future__ import annotations

from typing import Any

from console.clusters.models import Cluster
from console.frame.errors import or_404
from console.frame.security.access import Action, require


def find_cluster(user: Any, alias: str, right: Action = "view") -> Cluster:
    """Return a cluster on which a person has a right; raises Http404 and `PermissionDenied`."""
    cluster = or_404(Cluster.objects.filter(alias=alias).first())
    require(user, right, cluster.pk)
    return cluster
