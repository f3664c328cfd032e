"""Sign-in by OpenID Connect: Authlib does the protocol, every call goes through the outbound guard.

State, nonce and PKCE are Authlib's; issuer, audience and algorithms are pinned here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import DjangoOAuth2App
from authlib.integrations.django_client.integration import DjangoIntegration
from authlib.integrations.requests_client import OAuth2Session
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from joserfc.errors import JoseError

from console.accounts.audit import audit
from console.accounts.models import Role, User
from console.frame.errors import ActionRefused
from console.frame.security.outbound import Outbound
from console.frame.security.outbound_adapter import guarded_session

# Signed with the provider's private key: never with a secret that we know too, never unsigned.
ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
# What the libraries raise at an answer; they expect documents of the right shape, and break at others.
_NOT_ACCEPTED = (
    AuthlibBaseError,
    JoseError,
    requests.RequestException,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    RecursionError,
)
# Words of the protocol: any other text comes from the address, which everybody may write.
_CODE = re.compile(r"[a-z_]{1,60}")
# OpenID Connect Core: at most 255 ASCII characters. What is cut would make one person of two.
_SUBJECT = re.compile(r"[\x20-\x7e]{1,255}")
_STATE = "_state_crosslog_"
_KEPT_STATES = 5
_ORDER = [role.value for role in Role]


class SignInRefused(ActionRefused):
    """The provider did not say who somebody is, or that person may not come in."""

    def __init__(self, message: str) -> None:
        super().__init__("sign_in_refused", message)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the provider says somebody is; `role` is None when the provider does not decide it."""

    issuer: str
    subject: str
    name: str
    role: Role | None

    @property
    def key(self) -> str:
        """Return what a person is recognised by; names can be given to somebody else, this cannot."""
        return f"{self.issuer} {self.subject}"


class _Provider(DjangoOAuth2App):
    """Authlib's client, with the provider's description checked before it is believed."""

    def load_server_metadata(self) -> dict[str, Any]:
        """Return the description of the provider; raises `SignInRefused` when it is another's."""
        metadata: dict[str, Any] = super().load_server_metadata()
        if str(metadata.get("issuer", "")).rstrip("/") != settings.OIDC_ISSUER:
            raise SignInRefused("The provider calls itself by another name than OIDC_ISSUER.")
        offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        kept = [name for name in offered if name in ALGORITHMS]
        metadata["id_token_signing_alg_values_supported"] = kept or ["RS256"]
        return metadata


def begin(request: HttpRequest, back: str) -> HttpResponse:
    """Send the browser to the provider, which sends it to `back`."""
    for begun in [key for key in request.session.keys() if key.startswith(_STATE)][:-_KEPT_STATES]:  # noqa: SIM118  no Mapping
        del request.session[begun]
    try:
        answer: HttpResponse = _provider().authorize_redirect(request, back)  # type: ignore[no-untyped-call]  # Authlib
    except _NOT_ACCEPTED as error:
        raise SignInRefused(_told(error)) from None
    return answer


def identify(request: HttpRequest) -> Identity:
    """Return who came back from the provider; raises `SignInRefused`, or `ActionRefused` of a call."""
    provider = _provider()
    options = {
        "iss": {"essential": True, "values": [settings.OIDC_ISSUER, f"{settings.OIDC_ISSUER}/"]},
        "aud": {"essential": True, "value": settings.OIDC_CLIENT_ID},
        "sub": {"essential": True},
    }
    try:
        answer = provider.authorize_access_token(request, claims_options=options)  # type: ignore[no-untyped-call]  # Authlib
    except _NOT_ACCEPTED as error:
        raise SignInRefused(_told(error)) from None
    claims = answer.get("userinfo")
    if not claims:
        raise SignInRefused("The provider's answer has no ID token.")
    return _identity(claims)


def has_begun(request: HttpRequest) -> bool:
    """Say whether this browser was sent to the provider, and comes back from there."""
    return f"{_STATE}{request.GET.get('state', '')}" in request.session


def admit(identity: Identity) -> User:
    """Return the account of an identity, made at the first sign-in; raises `SignInRefused`.

    An account with a password is never taken over because the provider knows the same name.
    """
    with transaction.atomic():
        person = User.objects.select_for_update().filter(identity=identity.key).first()
        if person is None:
            person = _new_person(identity)
        elif identity.role is not None and person.role != identity.role:
            before, person.role = {"role": person.role}, identity.role
            person.save(update_fields=["role"])
            what = f"person:{person.username}"
            audit("person.change", what, before=before, after={"role": person.role}, by=person)
    if not person.is_active:
        raise SignInRefused("This account is deactivated.")
    return person


def role_of(claims: Mapping[str, Any]) -> Role | None:
    """Return the highest role that OIDC_ROLES gives; None when OIDC_ROLE_CLAIM is not set."""
    if not settings.OIDC_ROLE_CLAIM:
        return None
    value: Any = claims
    for step in settings.OIDC_ROLE_CLAIM.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    given = {str(item) for item in (value if isinstance(value, list) else [value])}
    roles = [settings.OIDC_DEFAULT_ROLE]
    roles += [role for word, role in role_words() if word in given]
    return Role(max(roles, key=_ORDER.index))


def role_words() -> list[tuple[str, str]]:
    """Return OIDC_ROLES as (value of the claim, role)."""
    pairs = (text.rpartition("=") for text in settings.OIDC_ROLES)
    return [(word.strip(), role.strip()) for word, _, role in pairs]


def _provider() -> _Provider:
    issuer = urlsplit(settings.OIDC_ISSUER)
    guard = Outbound.from_settings(str(issuer.netloc))

    class Session(OAuth2Session):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            guarded_session(self, guard)

    provider = _Provider(
        DjangoIntegration("crosslog"),
        name="crosslog",
        client_id=settings.OIDC_CLIENT_ID,
        client_secret=settings.OIDC_CLIENT_SECRET or None,
        server_metadata_url=f"{settings.OIDC_ISSUER}/.well-known/openid-configuration",
        client_kwargs={
            "scope": settings.OIDC_SCOPES,
            "code_challenge_method": "S256",
            **({} if settings.OIDC_CLIENT_SECRET else {"token_endpoint_auth_method": "none"}),
        },
    )
    provider.client_cls = Session
    return provider


def _identity(claims: Mapping[str, Any]) -> Identity:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not _SUBJECT.fullmatch(subject):
        raise SignInRefused("The provider's ID token has no subject that a person can be known by.")
    name = claims.get(settings.OIDC_NAME_CLAIM) or claims.get("email") or subject
    return Identity(settings.OIDC_ISSUER, subject, str(name), role_of(claims))


def _new_person(identity: Identity) -> User:
    role = identity.role or Role(settings.OIDC_DEFAULT_ROLE)
    person = User(username=_free_name(identity.name), role=role, identity=identity.key)
    person.set_unusable_password()
    person.save(force_insert=True)
    after = {"role": role, "issuer": identity.issuer}
    audit("person.create", f"person:{person.username}", after=after, by=person)
    return person


def _free_name(wanted: str) -> str:
    """Return the wanted name, as far as a name may hold it, with a number when it is taken."""
    kept = "".join(letter for letter in wanted if letter.isalnum() or letter in "@.+-_")
    name = kept[:140] or "person"
    taken = set(User.objects.filter(username__startswith=name).values_list("username", flat=True))
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(n for n in numbered if n not in taken)


def _told(error: Exception) -> str:
    """Return what can be said of an error: the library's words may hold what the provider sent."""
    if isinstance(error, requests.RequestException):
        return "The sign-in provider did not give a usable answer."
    code = str(getattr(error, "error", ""))
    kind = code if _CODE.fullmatch(code) else type(error).__name__
    return f"The sign-in provider's answer was not accepted ({kind})."
