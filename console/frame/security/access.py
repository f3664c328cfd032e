"""Authorization: decided only here, for pages, tables, exports and the API.

A person has a role everywhere (`none` for those who see only what is granted) and may have a higher
one on single clusters. A service token can only narrow what its owner may do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Literal, TypeVar

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, resolve_url
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

# `own`: what concerns only the person who asks, whatever the role.
Action = Literal["own", "view", "operate", "administer"]
Page = Callable[..., HttpResponseBase]
# From the arguments of an address to the primary keys of the clusters that it is about.
Where = Callable[..., Collection[int]]
M = TypeVar("M", bound=Model)

_LEVEL_OF_ROLE = {"none": 0, "viewer": 1, "operator": 2, "admin": 3}
_LEVEL_OF_ACTION: dict[Action, int] = {"own": 0, "view": 1, "operate": 2, "administer": 3}
_REFUSALS: dict[Action, str] = {
    "own": "Your account may not do this.",
    "view": "Your account may not look at this page. Ask an administrator of crosslog for a role.",
    "operate": "This needs the role operator. Ask an administrator of crosslog for it.",
    "administer": "This needs the role admin. Ask an administrator of crosslog for it.",
}
_NOT_WITH_TOKEN = "A token cannot do this: a person has to sign in."  # noqa: S105  a sentence


def anywhere(**_: Any) -> Collection[int]:
    """Mark a page that needs the right on some cluster: it scopes its own rows."""
    raise AssertionError("`anywhere` was called: it has no clusters")


@dataclass(frozen=True, slots=True)
class Rights:
    """The levels of a person: everywhere, and (asked for only when needed) on single clusters."""

    everywhere: int = -1
    granted: Callable[[], Mapping[int, int]] = dict

    def reaches(self, action: Action, clusters: Collection[int]) -> bool:
        """Say whether the right is there on all of these clusters; without any, everywhere."""
        wanted = _LEVEL_OF_ACTION[action]
        if self.everywhere >= wanted or not clusters:
            return self.everywhere >= wanted
        return all(self.granted().get(pk, 0) >= wanted for pk in clusters)

    def reaches_any(self, action: Action) -> bool:
        """Say whether the right is there on some cluster."""
        return self.everywhere >= _LEVEL_OF_ACTION[action] or bool(self.clusters(action))

    def clusters(self, action: Action) -> list[int]:
        """Return the clusters on which a grant gives this right."""
        wanted = _LEVEL_OF_ACTION[action]
        return [pk for pk, level in self.granted().items() if level >= wanted]

    def within(self, other: Rights) -> Rights:
        """Return what both have: on each cluster the lower level."""
        return Rights(min(self.everywhere, other.everywhere), lambda: self._granted_within(other))

    def _granted_within(self, other: Rights) -> dict[int, int]:
        mine, others = self.granted(), other.granted()
        return {
            pk: min(max(self.everywhere, mine.get(pk, 0)), max(other.everywhere, others.get(pk, 0)))
            for pk in {*mine, *others}
        }


def rights_of(user: Any) -> Rights:
    """Return what a person may do, within the token that acts for them and the rights of a past request.

    The grants are `user.grants` (role by cluster), the token is `user.acting_token`, the rights of
    the original request are `user.asked_rights` (`console.accounts.asked_rights`).
    """
    if not getattr(user, "is_authenticated", False) or not user.is_active:
        return Rights()
    if getattr(user, "must_change_password", False):
        return Rights()
    everywhere = 3 if user.is_superuser else level_of(user.role)
    rights = Rights(everywhere, lambda: _levels(user.grants))
    token, asked = getattr(user, "acting_token", None), getattr(user, "asked_rights", None)
    if token is not None:
        rights = rights.within(_rights_of_token(token))
    return rights if asked is None else rights.within(asked)


def level_of(role: str) -> int:
    """Return the level of a role; 0 for a word that is none."""
    return _LEVEL_OF_ROLE.get(role, 0)


def role_of(level: int) -> str:
    """Return the role of a level."""
    return next((role for role, one in _LEVEL_OF_ROLE.items() if one == level), "none")


def can(user: Any, action: Action, *clusters: int) -> bool:
    """Say whether this person may do this on all these clusters; without any, everywhere."""
    return rights_of(user).reaches(action, clusters)


def can_anywhere(user: Any, action: Action) -> bool:
    """Say whether there is a cluster on which this person may do this."""
    return rights_of(user).reaches_any(action)


def require(user: Any, action: Action, *clusters: int) -> None:
    """Refuse what the person may not do; what may not even be seen is not there (`Http404`)."""
    rights = rights_of(user)
    if rights.reaches(action, clusters):
        return
    if not rights.reaches("view", clusters) and rights.reaches_any("view"):
        raise Http404
    raise PermissionDenied(_REFUSALS[action])


def visible(user: Any, rows: QuerySet[M]) -> QuerySet[M]:
    """Return the rows that a person may see, without another query for those who may see all.

    A model says in `clusters_at` by which paths its clusters are reached; a row is visible when all
    of them are: a flow names topics and offsets of both its clusters, so one of them is not enough.
    `clusters_at = ()` is for rows of no cluster, whose room decides; a model with `visible_to(user)`
    gives the condition itself; a model that says nothing is seen only with a role everywhere.
    """
    rights = rights_of(user)
    if rights.reaches("view", ()):
        return rows
    model: Any = rows.model
    if hasattr(model, "visible_to"):
        return rows.filter(model.visible_to(user))
    if not hasattr(model, "clusters_at"):
        return rows.none()
    seen = rights.clusters("view")
    return rows.filter(**{f"{path}__in": seen for path in model.clusters_at})


def told_names(user: Any, rows: QuerySet[Any]) -> str:
    """Return the names of rows that a person may see, and the count of the others; all without a person."""
    names = sorted(str(row) for row in (rows if user is None else visible(user, rows)))
    hidden = rows.count() - len(names)
    if not hidden:
        return ", ".join(names)
    noun = rows.model._meta.verbose_name if hidden == 1 else rows.model._meta.verbose_name_plural
    others = f"{hidden} {'other ' if names else ''}{noun} that you may not see"
    return " and ".join([*filter(None, [", ".join(names)]), others])


def clusters_of(rows: QuerySet[Any]) -> Collection[int]:
    """Return the clusters of the first row, for `where`; none when there is no row."""
    model: Any = rows.model
    return rows.order_by("pk").values_list(*model.clusters_at).first() or ()


def page(action: Action, where: Where | None = None) -> Callable[[Page], Page]:
    """Guard a page: anonymous people are sent to the login, others without the right get a 403.

    The right is needed everywhere, unless `where` says on which clusters, or is `anywhere`.
    """

    def guard(view: Page) -> Page:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _ask_to_log_in(request)
            if getattr(request.user, "must_change_password", False):
                return redirect("accounts:password")
            _require_at(request.user, action, where, kwargs)
            if where is not None and where is not anywhere:
                request.access_place = partial(where, **kwargs)  # type: ignore[attr-defined]  # for `can_here`
            return view(request, *args, **kwargs)

        guarded.guard = (action, where)  # type: ignore[attr-defined]  # for `may_open`
        return guarded

    return guard


def may_open(user: Any, view: Callable[..., Any], clusters: Collection[int] | None) -> bool:
    """Say whether a person may open a page about these clusters; None: its rows were scoped already.

    It costs no query beyond the grants of the person.
    """
    guard: tuple[Action, Where | None] = getattr(view, "guard", ("own", None))
    action, where = guard
    if where is None:
        return can(user, action)
    if where is anywhere or clusters is None:
        return can_anywhere(user, action)
    return can(user, action, *clusters)


def can_here(request: HttpRequest, action: Action) -> bool:
    """Say whether the person may do this to what the page is about, for buttons; no page is guarded so.

    On a page about no cluster: to any cluster, and to administer, to all.
    """
    user, place = getattr(request, "user", None), getattr(request, "access_place", None)
    if can(user, action):
        return True
    if place is not None:
        return can(user, action, *place())
    return action != "administer" and can_anywhere(user, action)


class Allowed(BasePermission):
    """DRF permission: reads need `view`, writes need `operate` unless the view says otherwise.

    A view overrides per DRF action or for all its writes:
    `access = {"write": "administer", "check": "operate"}`. The right is needed everywhere, unless
    `where` of the view says for an address with an object on which clusters, or `anywhere_actions`
    names the action: its rows are scoped, or it checks what the request is about. Lists of a view
    with `where` are such; `everywhere_actions` of it are the opposite. `people_only` shuts tokens out.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """Decide by method, by what the view declares, then by the object in the address."""
        action = action_of(view, request.method or "")
        self.message = _REFUSALS[action]
        if not getattr(request.user, "is_authenticated", False):
            return False
        if getattr(view, "people_only", False) and getattr(request.user, "acting_token", None):
            self.message = _NOT_WITH_TOKEN
            return False
        _require_at(request.user, action, _where_of(view), view.kwargs)
        return True


def action_of(view: Any, method: str) -> Action:
    """Return what a request with this method to this API view needs."""
    declared: dict[str, Action] = getattr(view, "access", {})
    name = getattr(view, "action", None) or ""
    kind = "read" if method in SAFE_METHODS else "write"
    default: Action = "view" if kind == "read" else "operate"
    return declared.get(name) or declared.get(kind) or default


def _where_of(view: Any) -> Where | None:
    where: Where | None = getattr(view, "where", None)
    name = getattr(view, "action", None) or ""
    if name in getattr(view, "anywhere_actions", ()):
        return anywhere
    if name in getattr(view, "everywhere_actions", ()):
        return None
    if where is not None and not view.kwargs and name == "list":
        return anywhere
    return where if view.kwargs else None


def _require_at(user: Any, action: Action, where: Where | None, kwargs: Mapping[str, Any]) -> None:
    """Refuse without the right there; the clusters are only looked up when that decides it."""
    if where is anywhere:
        if not can_anywhere(user, action):
            raise PermissionDenied(_REFUSALS[action])
    elif not can(user, action):
        if where is None:
            raise PermissionDenied(_REFUSALS[action])
        require(user, action, *where(**kwargs))


def _levels(grants: Mapping[int, str]) -> dict[int, int]:
    return {pk: level_of(role) for pk, role in grants.items()}


def _rights_of_token(token: Any) -> Rights:
    """Return the most that a token of a role, and maybe of some clusters, opens."""
    most = level_of(token.role)
    scope: Collection[int] | None = token.scope
    if scope is None:
        return Rights(most)
    return Rights(0, lambda: dict.fromkeys(scope, most))


def _ask_to_log_in(request: HttpRequest) -> HttpResponseBase:
    if request.headers.get("HX-Request"):
        # A redirect would put the login form into a panel of the page.
        return HttpResponse(status=401, headers={"HX-Redirect": resolve_url(settings.LOGIN_URL)})
    return redirect_to_login(request.get_full_path())
