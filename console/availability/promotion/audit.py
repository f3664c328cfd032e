"""Audit of refused promotion requests: missing rights, or a rule that blocks them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from rest_framework.permissions import SAFE_METHODS

from console.accounts.audit import audit, change
from console.accounts.models import Outcome
from console.frame.errors import ActionRefused

P = ParamSpec("P")
T = TypeVar("T")
_WRITTEN_BY_CHANGE = "read_only"


def promotion_change(action: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark an action like `accounts.audit.change`, and write every `ActionRefused` of it to the trail."""

    def marked(do: Callable[P, T]) -> Callable[P, T]:
        changed = change(action)(do)

        @wraps(changed)
        def done(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return changed(*args, **kwargs)
            except ActionRefused as refusal:
                if refusal.code != _WRITTEN_BY_CHANGE:
                    first = args[0] if args else None
                    told = {"code": refusal.code, "why": refusal.message}
                    audit(
                        action,
                        subject_of(first),
                        cluster=_cluster_of(first),
                        after=told,
                        outcome=Outcome.REFUSED,
                    )
                raise

        return done

    return marked


def subject_of(thing: Any) -> str:
    """Return what the trail calls a policy, an action, a drill or a cluster."""
    kinds = {
        "PromotionPolicy": "promotion-policy",
        "PromotionAction": "promotion",
        "Drill": "drill",
        "Cluster": "cluster",
    }
    kind = kinds.get(type(thing).__name__, "")
    name = getattr(thing, "subject", None) or str(thing or "all clusters")
    return f"{kind}:{name}" if kind else name


def _cluster_of(thing: Any) -> str:
    cluster = getattr(thing, "cluster", None)
    return str(cluster or (thing if type(thing).__name__ == "Cluster" else ""))


def page_refusals_written(
    action: str,
) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Audit requests without the right to a page that changes something. Decorates its guard."""

    def marked(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                return view(request, *args, **kwargs)
            except (PermissionDenied, Http404):
                if request.method not in SAFE_METHODS and getattr(request.user, "pk", None):
                    write_refusal(action, request.path)
                raise

        return asked

    return marked


def write_refusal(action: str, path: str) -> None:
    """Write to the trail that an account has no right to an action."""
    told = {"code": "not_allowed", "why": "The account has no right to it."}
    audit(action[:60], path, after=told, outcome=Outcome.REFUSED)
