"""Pages of the sign-in elsewhere: out to the provider and back."""

from __future__ import annotations

import logging
import math

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.accounts.audit import audit
from console.accounts.models import Outcome
from console.frame.errors import ActionRefused
from console.frame.rest.throttling import BUCKETS
from console.frame.security.current_request import address_of

logger = logging.getLogger(__name__)

_NEXT = "oidc_next"
# Of one address; many people may sit behind one.
BEGINS_PER_MIN = 60
BACKEND = "console.accounts.backends.PasswordBackend"


@require_safe
@never_cache
def begin(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider."""
    _only_when_set()
    from console.accounts.sign_in import oidc  # as says `_only_when_set`

    try:
        _take_turn(request)
        request.session[_NEXT] = _inside(request, request.GET.get("next", ""))
        return oidc.begin(request, request.build_absolute_uri(reverse("accounts:oidc-back")))
    except ActionRefused as refusal:
        return _refused(request, refusal)


@require_safe
@never_cache
def come_back(request: HttpRequest) -> HttpResponse:
    """Take the provider's answer and sign in; Django gives the session a new key."""
    _only_when_set()
    from console.accounts.sign_in import oidc

    # An address that anybody may open writes nothing to the audit log.
    if not oidc.has_begun(request):
        return _refused(
            request, oidc.SignInRefused("This sign-in did not begin here, or too long ago.")
        )
    try:
        person = oidc.admit(oidc.identify(request))
    except ActionRefused as refusal:
        audit("sign-in", "person:(unknown)", after={"why": refusal.message}, outcome=Outcome.FAILED)
        return _refused(request, refusal)
    target = request.session.pop(_NEXT, "") or settings.LOGIN_REDIRECT_URL
    login(request, person, backend=BACKEND)
    audit("sign-in", f"person:{person.username}", after={"by": settings.OIDC_ISSUER}, by=person)
    return redirect(target)


def _take_turn(request: HttpRequest) -> None:
    """Raise `SignInRefused` for an address that begins sign-ins all the time: each one asks the provider."""
    from console.accounts.sign_in import oidc

    if wait_s := BUCKETS.take(f"oidc {address_of(request)}", BEGINS_PER_MIN):
        again = math.ceil(wait_s)
        raise oidc.SignInRefused(f"Too many sign-ins from this address. Try again in {again} s.")


def _only_when_set() -> None:
    """Raise Http404 without OpenID Connect, whose libraries are loaded by its first use."""
    if not settings.OIDC_ISSUER:
        raise Http404


def _refused(request: HttpRequest, refusal: ActionRefused) -> HttpResponse:
    logger.warning("sign-in elsewhere refused because=%s", refusal.message)
    messages.error(request, refusal.message)
    return redirect(settings.LOGIN_URL)


def _inside(request: HttpRequest, target: str) -> str:
    """Return a target on this console, "" for every other."""
    hosts = {request.get_host()}
    is_ours = url_has_allowed_host_and_scheme(target, hosts, require_https=request.is_secure())
    return target if is_ours else ""
