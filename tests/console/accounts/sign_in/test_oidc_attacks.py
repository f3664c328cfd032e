"""Sign-in against a hostile provider, or an attacker in between, that wants in or wants to do harm."""

import base64
import hashlib
import hmac
import json
import threading
import time
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from django.test import Client
from joserfc import jwt
from joserfc.jwk import RSAKey

from console.accounts.models import AuditEntry, User
from console.accounts.sign_in.oidc_pages import BEGINS_PER_MIN
from tests.console.accounts.oidc_provider import (
    CLIENT,
    KEY,
    OTHER,
    come_back,
    go_there,
    is_signed_in,
)
from tests.waiting import Stalls

pytestmark = pytest.mark.django_db


def encoded(part) -> str:
    data = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed_with_the_public_key(provider) -> str:
    """Return a token whose HMAC key is what everybody can read at the provider."""
    head = encoded({"alg": "HS256", "kid": "one"})
    said = f"{head}.{provider.id_token().split('.')[1]}"
    public = KEY.as_pem(private=False)
    return f"{said}.{encoded(hmac.new(public, said.encode(), hashlib.sha256).digest())}"


def unsigned(provider, **header) -> str:
    payload = provider.id_token().split(".")[1]
    return f"{encoded({'alg': 'none'} | header)}.{payload}."


def with_its_own_key(provider) -> str:
    """Return a token that brings the key that it is signed with."""
    own = RSAKey.generate_key(2048, {"kid": "mine"}, auto_kid=False)
    head = {"alg": "RS256", "kid": "mine", "jwk": own.as_dict(private=False)}
    head |= {"jku": f"{provider.issuer}/attacker", "x5u": f"{provider.issuer}/attacker"}
    provider.instead["/attacker"] = lambda h: h.answer({"keys": [own.as_dict(private=False)]})
    payload = json.loads(base64.urlsafe_b64decode(provider.id_token().split(".")[1] + "=="))
    return jwt.encode(head, payload, own, algorithms=["RS256"], registry=None)


def changed(provider) -> str:
    head, payload, signature = provider.id_token().split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "==")) | {"sub": "4712"}
    return f"{head}.{encoded(claims)}.{signature}"


NOW = int(time.time())
TOKENS = {
    "alg none": unsigned,
    "alg nOnE": lambda p: unsigned(p, alg="nOnE"),
    "no alg": lambda p: f"{encoded({})}.{p.id_token().split('.')[1]}.",
    "alg a list": lambda p: unsigned(p, alg=["RS256"]),
    "alg a number": lambda p: unsigned(p, alg=7),
    "HS256 with the public key": signed_with_the_public_key,
    "brings its own key": with_its_own_key,
    "claims changed": changed,
    "no signature": lambda p: p.id_token().rpartition(".")[0] + ".",
    "two parts": lambda p: p.id_token().rpartition(".")[0],
    "five parts": lambda p: p.id_token() + ".a.b",
    "not text": lambda p: {"a": 1},
    "a number": lambda p: 7,
    "a list": lambda p: ["a"],
    "empty": lambda p: "",
    "outside ASCII": lambda p: "é.é.é",
    "header no object": lambda p: f"{encoded([1])}.{p.id_token().split('.', 1)[1]}",
    "header deep": lambda p: f"{encoded(b'[' * 50_000)}.{p.id_token().split('.', 1)[1]}",
    "header no JSON": lambda p: f"{encoded(bytes(9))}.{p.id_token().split('.', 1)[1]}",
    "critical": lambda p: unsigned(p, alg="RS256", crit=["exp"]),
}
CLAIMS = {
    "issuer a list": {"iss": ["x"]},
    "issuer missing": {"iss": None},
    "audience list without us": {"aud": ["a", "b"]},
    "audience missing": {"aud": None},
    "audience an object": {"aud": {CLIENT: 1}},
    "audience with us, for another": {"aud": [CLIENT, "other"], "azp": "other"},
    "azp another": {"azp": "other"},
    "exp missing": {"exp": None},
    "exp text": {"exp": "tomorrow"},
    "exp infinite": {"exp": float("inf")},
    "exp NaN": {"exp": float("nan")},
    "exp a list": {"exp": [NOW + 60]},
    "issued tomorrow": {"iat": NOW + 86_400, "exp": NOW + 90_000},
    "issued missing": {"iat": None},
    "not before tomorrow": {"nbf": NOW + 86_400, "exp": NOW + 90_000},
    "nonce a list": {"nonce": ["x"]},
    "nonce empty": {"nonce": ""},
    "subject empty": {"sub": ""},
    "subject a list": {"sub": ["4711"]},
    "subject a number": {"sub": 4711},
    "subject an object": {"sub": {"a": 1}},
    "subject true": {"sub": True},
    "subject too long": {"sub": "4" * 300},
    "subject with NUL": {"sub": "4711\x00"},
    "subject with a line feed": {"sub": "47\n11"},
}


def assert_refused(client, answer) -> None:
    assert (answer.status_code, answer["Location"]) == (302, "/login/")
    assert not is_signed_in(client)
    assert User.objects.count() == 0
    assert AuditEntry.objects.filter(action="sign-in", outcome="failed").count() == 1


@pytest.mark.parametrize("what", TOKENS)
def test_a_token_that_the_provider_did_not_sign_is_refused(client, provider, what):
    asked = go_there(client, provider)
    token = TOKENS[what](provider)
    provider.id_token = lambda: token
    assert_refused(client, come_back(client, asked))


@pytest.mark.parametrize("what", CLAIMS)
def test_a_signed_token_with_claims_that_do_not_hold_is_refused(client, provider, what):
    asked = go_there(client, provider)
    provider.claims = CLAIMS[what]
    assert_refused(client, come_back(client, asked))


def test_a_key_id_that_is_not_published_is_refused(client, provider):
    asked = go_there(client, provider)
    provider.header, provider.key = {"kid": "two"}, OTHER
    assert_refused(client, come_back(client, asked))


NAMES = {
    "a number": (7, "7"),
    "a list": (["eva", "adam"], "evaadam"),
    "an object": ({"a": 1}, "a1"),
    "huge": ("e" * 50_000, "e" * 140),
    "control characters": ("e\x00v\x1b[31ma\r\n\u202e", "ev31ma"),
    "markup": ("<script>alert(1)</script>", "scriptalert1script"),
    "nothing left": ("\u202e\x00", "person"),
}


@pytest.mark.parametrize("what", NAMES)
def test_whatever_the_name_is_the_account_has_a_plain_one(client, provider, what):
    asked = go_there(client, provider)
    said, kept = NAMES[what]
    provider.claims = {"preferred_username": said}
    answer = come_back(client, asked)
    assert answer.status_code == 302
    assert [p.username for p in User.objects.all()] == [kept]
    assert client.get("/account/").status_code in (200, 404)


ROLES = {
    "a number": 7,
    "true": True,
    "an object": {"kafka-admins": True},
    "a list of lists": [["kafka-admins"]],
    "text of all": "kafka-admins,staff",
    "deep": [[[[[]]]]],
    "many": ["x"] * 5_000,
    "in another case": ["KAFKA-ADMINS"],
    "with blanks": [" kafka-admins "],
    "NUL": ["kafka-admins\x00"],
}


@pytest.mark.parametrize("what", ROLES)
def test_a_role_claim_of_an_odd_type_gives_no_role(client, provider, settings, what):
    settings.OIDC_ROLE_CLAIM, settings.OIDC_ROLES = "groups", ["kafka-admins=admin"]
    asked = go_there(client, provider)
    provider.claims = {"groups": ROLES[what]}
    assert come_back(client, asked).status_code == 302
    assert User.objects.get().role == "none"


def raw(body):
    return lambda handler: handler.answer(body)


def redirect(where):
    def answer(handler):
        handler.send_response(302)
        handler.send_header("Location", where)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def many_keys(handler):
    key = OTHER.as_dict(private=False)
    handler.answer({"keys": [key | {"kid": str(n)} for n in range(2_000)]})


DOCUMENTS = {
    "10 MB": raw(b"[" + b" " * 10_000_000 + b"]"),
    "empty": raw(b""),
    "a list": raw([]),
    "a text": raw("x"),
    "a number": raw(7),
    "null": raw(None),
    "no JSON": raw(b"<html>"),
    "deep": raw(b"[" * 500_000),
    "deep object": raw(b'{"keys":' * 100_000),
    "bytes": raw(b"\xff\xfe\x00"),
    "huge number": raw(b'{"keys": ' + b"9" * 100_000 + b"}"),
    "NaN": raw(b'{"keys": NaN, "id_token": NaN, "issuer": NaN}'),
    "keys strange": raw({"keys": [1, None, "x", [], {}]}),
    "keys an object": raw({"keys": {"a": 1}}),
    "keys null": raw({"keys": None}),
    "key of a strange type": raw({"keys": [{"kty": ["RSA"], "kid": "one"}]}),
    "key with strange parts": raw({"keys": [{"kty": "RSA", "kid": "one", "n": 7, "e": []}]}),
    "key tiny": raw({"keys": [{"kty": "RSA", "kid": "one", "n": "AQ", "e": "AQ"}]}),
    "a secret for a key": raw({"keys": [{"kty": "oct", "kid": "one", "k": "AAAA"}]}),
    "redirect inside": redirect("/jwks"),
    "redirect to the clouds": redirect("http://169.254.169.254/"),
    "redirect elsewhere": redirect("https://evil.example/"),
    "500": lambda h: h.send_error(500),
    "many keys": many_keys,
}


@pytest.mark.parametrize("path", ["/jwks", "/token", "/.well-known/openid-configuration"])
@pytest.mark.parametrize("what", DOCUMENTS)
def test_a_document_that_is_none_is_refused(client, provider, what, path):
    asked = go_there(client, provider)
    provider.instead[path] = DOCUMENTS[what]
    start = time.monotonic()
    with Stalls() as stalls:
        answer = come_back(client, asked)
    assert time.monotonic() - start < 5 + stalls.seconds
    assert_refused(client, answer)


def test_a_state_of_another_browser_is_refused(client, provider):
    """Somebody is to come in under the attacker's account: login CSRF."""
    asked = go_there(Client(), provider)
    assert come_back(client, asked)["Location"] == "/login/"
    assert (is_signed_in(client), provider.forms) == (False, [])


def test_a_code_of_another_browser_is_refused(client, provider):
    go_there(attacker := Client(), provider)
    challenge = provider.challenge
    asked = go_there(client, provider)
    # The provider gave the code to the attacker's browser, for the attacker's verifier.
    provider.challenge = challenge
    assert_refused(client, come_back(client, asked))
    assert not is_signed_in(attacker)


def test_a_token_of_another_sign_in_of_the_same_browser_is_refused(client, provider):
    go_there(client, provider)
    earlier = provider.nonce
    asked = go_there(client, provider)
    provider.nonce = earlier
    assert_refused(client, come_back(client, asked))


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example/", "///evil.example", "/\\evil.example", "\\\\evil.example", "https:evil.example",
        "https:///evil.example", "javascript:alert(1)", "/%09/evil.example", "%2F%2Fevil.example",
        "http://testserver@evil.example/", "http://testserver.evil.example/", "data:text/html,x",
        "\t//evil.example", "ftp://testserver/",
    ],
)  # fmt: skip
def test_no_way_back_leads_to_another_site(client, provider, target):
    answer = client.get("/login/oidc/", {"next": target})
    asked = {k: v[0] for k, v in parse_qs(urlsplit(answer["Location"]).query).items()}
    provider.challenge, provider.nonce = asked["code_challenge"], asked["nonce"]
    where = come_back(client, asked)["Location"]
    assert urljoin("http://testserver/login/oidc/back/", where).startswith("http://testserver/")


@pytest.mark.parametrize(
    "query",
    [
        {}, {"state": ""}, {"state": "x" * 3000, "code": "x"}, {"code": "x"},
        {"error": "call 0900-1234 at once", "error_description": "<b>x</b>"}, {"error": "a\nb", "state": "x"},
    ],
)  # fmt: skip
def test_an_answer_that_nobody_asked_for_is_neither_quoted_nor_kept(
    client, provider, query, caplog
):
    answer = client.get("/login/oidc/back/", query)
    assert (answer.status_code, answer["Location"]) == (302, "/login/")
    assert "0900" not in client.get("/login/").content.decode() + caplog.text
    assert not AuditEntry.objects.exists()


def test_words_of_an_address_are_not_quoted_even_when_a_sign_in_has_begun(client, provider):
    asked = go_there(client, provider)
    client.get("/login/oidc/back/", {"state": asked["state"], "error": "call 0900\n1234"})
    page = client.get("/login/").content.decode()
    assert "0900" not in page
    assert "0900" not in str(AuditEntry.objects.get().after)


def test_the_word_of_a_provider_that_refused_is_told(client, provider):
    asked = go_there(client, provider)
    client.get("/login/oidc/back/", {"state": asked["state"], "error": "access_denied"})
    assert "access_denied" in client.get("/login/").content.decode()


def test_a_session_keeps_only_the_newest_sign_ins_that_have_begun(client, provider):
    asked = [go_there(client, provider) for _ in range(9)]
    assert sum(key.startswith("_state_") for key in client.session.keys()) <= 6  # noqa: SIM118
    assert come_back(client, asked[-1])["Location"] == "/account/tokens/"


def test_an_address_cannot_have_the_provider_asked_all_the_time(client, provider):
    asked = []
    provider.instead["/.well-known/openid-configuration"] = lambda handler: (
        asked.append(1),
        handler.answer(provider.description()),
    )
    began = time.monotonic()
    for _ in range(10 * BEGINS_PER_MIN):
        answer = client.get("/login/oidc/")
        if answer["Location"] == "/login/":
            break
    # A bucket refills while it is emptied, by so much as the machine is slow.
    refilled = (time.monotonic() - began) * BEGINS_PER_MIN / 60
    assert BEGINS_PER_MIN <= len(asked) <= BEGINS_PER_MIN + refilled
    assert answer["Location"] == "/login/"
    assert "Too many sign-ins from this address" in client.get("/login/").content.decode()


def test_a_provider_that_sends_a_byte_now_and_then_is_given_up(client, provider, settings):
    settings.OUTBOUND_TIMEOUT_S = 1
    ended = threading.Event()

    def drip(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not ended.wait(0.05):
            handler.wfile.write(b"x")

    provider.instead["/token"] = drip
    asked = go_there(client, provider)
    start = time.monotonic()
    try:
        with Stalls() as stalls:
            answer = come_back(client, asked)
    finally:
        ended.set()
    assert time.monotonic() - start < 3 + stalls.seconds
    assert_refused(client, answer)
