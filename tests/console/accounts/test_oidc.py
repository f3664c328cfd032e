"""Sign-in against a provider that the test runs itself: real HTTP, real RS256 keys."""

import base64
import hashlib
import http.server
import json
import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from console.accounts.models import AuditEntry, User

pytestmark = pytest.mark.django_db
KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}, auto_kid=False)
OTHER = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}, auto_kid=False)
CLIENT, SECRET = "crosslog", "planted-client-secret"


class Provider(http.server.BaseHTTPRequestHandler):
    """A small OpenID provider; `claims`, `key` and the like are what a test makes of it."""

    def do_GET(self):
        if self.path == "/.well-known/openid-configuration":
            self.answer(self.server.description())
        elif self.path == "/jwks":
            self.answer({"keys": [KEY.as_dict(private=False)]})
        else:
            self.send_error(404)

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        form = {k: v[0] for k, v in parse_qs(self.rfile.read(length).decode()).items()}
        self.server.forms.append(form)
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        sent = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
        if sent != self.server.challenge or form.get("code") != "the-code":
            self.answer({"error": "invalid_grant"}, 400)
            return
        token = {"access_token": "opaque", "token_type": "Bearer", "expires_in": 60}
        self.answer(
            token | ({"id_token": self.server.id_token()} if self.server.has_id_token else {})
        )

    def answer(self, document, status=200):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Stay quiet."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Provider)
        self.issuer = f"http://127.0.0.1:{self.server_address[1]}"
        self.claims, self.metadata, self.header = {}, {}, {}
        self.key, self.has_id_token, self.algorithm = KEY, True, "RS256"
        self.forms, self.challenge, self.nonce = [], "", ""

    def description(self):
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        } | self.metadata

    def id_token(self):
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": "4711",
            "aud": CLIENT,
            "exp": now + 60,
            "iat": now,
            "nonce": self.nonce,
            "preferred_username": "eva",
        } | self.claims
        claims = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": self.algorithm, "kid": "one"} | self.header
        return jwt.encode(header, claims, self.key, algorithms=[self.algorithm])


@pytest.fixture
def provider(settings):
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = server.issuer, CLIENT
    settings.OIDC_CLIENT_SECRET = SECRET
    settings.OUTBOUND_SCHEMES, settings.OUTBOUND_NETWORKS = ["http"], ["127.0.0.0/8"]
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def go_there(client, provider, target="/account/tokens/") -> dict[str, str]:
    """Begin a sign-in; return what the provider is asked by the browser."""
    answer = client.get(f"/login/oidc/?next={target}")
    assert answer.status_code == 302, answer
    asked = {k: v[0] for k, v in parse_qs(urlsplit(answer["Location"]).query).items()}
    provider.challenge, provider.nonce = asked["code_challenge"], asked["nonce"]
    return asked


def come_back(client, asked, **changes):
    return client.get("/login/oidc/back/", {"code": "the-code", "state": asked["state"]} | changes)


def is_signed_in(client) -> bool:
    return "_auth_user_id" in client.session


def test_a_person_signs_in_and_goes_on_where_they_wanted(client, provider):
    asked = go_there(client, provider)
    assert asked["code_challenge_method"] == "S256"
    assert asked["scope"] == "openid profile email"
    answer = come_back(client, asked)
    assert (answer.status_code, answer["Location"]) == (302, "/account/tokens/")
    person = User.objects.get()
    assert (person.username, person.role, person.has_usable_password()) == ("eva", "none", False)
    assert client.get("/account/tokens/").status_code == 200
    assert provider.forms[0]["redirect_uri"] == asked["redirect_uri"]
    assert AuditEntry.objects.filter(action="sign-in", actor=person, outcome="done").exists()


def test_the_session_gets_a_new_key(client, provider):
    asked = go_there(client, provider)
    before = client.session.session_key
    come_back(client, asked)
    assert client.session.session_key != before


def test_the_same_person_gets_the_same_account_whatever_the_name_is_now(client, provider):
    come_back(client, go_there(client, provider))
    client.post("/logout/")
    provider.claims = {"preferred_username": "eva.married"}
    come_back(client, go_there(client, provider))
    assert [person.username for person in User.objects.all()] == ["eva"]


def test_an_account_with_a_password_is_not_taken_over(client, provider):
    admin = User.objects.create_user("eva", password="a password of eva", role="admin")
    come_back(client, go_there(client, provider))
    person = User.objects.exclude(pk=admin.pk).get()
    assert (person.username, person.role) == ("eva-2", "none")


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["kafka-admins", "staff"], "admin"),
        (["kafka-team"], "operator"),
        ("kafka-team", "operator"),
        (["staff"], "none"),
        ([], "none"),
        (None, "none"),
    ],
)
def test_the_claim_gives_the_role_at_every_sign_in(client, provider, settings, groups, role):
    settings.OIDC_ROLE_CLAIM = "realm.groups"
    settings.OIDC_ROLES = ["kafka-admins=admin", "kafka-team=operator"]
    identity = f"{provider.issuer} 4711"
    User.objects.create_user("eva", role="viewer", identity=identity)
    provider.claims = {"realm": {"groups": groups}}
    come_back(client, go_there(client, provider))
    assert User.objects.get().role == role


REFUSED = {
    "another nonce": lambda p: p.claims.update(nonce="replayed"),
    "no nonce": lambda p: p.claims.update(nonce=None),
    "another audience": lambda p: p.claims.update(aud="another-client"),
    "another issuer": lambda p: p.claims.update(iss="https://evil.example"),
    "expired": lambda p: p.claims.update(exp=int(time.time()) - 3600),
    "no subject": lambda p: p.claims.update(sub=None),
    "signed with another key": lambda p: setattr(p, "key", OTHER),
    "no ID token": lambda p: setattr(p, "has_id_token", False),
    "another code challenge": lambda p: setattr(p, "challenge", "not ours"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_answer_that_does_not_hold_is_refused(client, provider, what):
    asked = go_there(client, provider)
    REFUSED[what](provider)
    answer = come_back(client, asked)
    assert (answer.status_code, answer["Location"]) == (302, "/login/")
    assert not is_signed_in(client)
    assert User.objects.count() == 0
    assert AuditEntry.objects.filter(action="sign-in", outcome="failed").exists()


def test_an_unsigned_token_is_refused(client, provider):
    asked = go_there(client, provider)
    signed = provider.id_token()
    head = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    provider.id_token = lambda: f"{head}.{signed.split('.')[1]}."
    come_back(client, asked)
    assert not is_signed_in(client)


def test_a_token_signed_with_the_client_secret_is_refused(client, provider):
    from joserfc.jwk import OctKey

    asked = go_there(client, provider)
    provider.key, provider.algorithm = OctKey.import_key(SECRET * 3), "HS256"
    come_back(client, asked)
    assert not is_signed_in(client)


def test_another_state_is_refused(client, provider):
    asked = go_there(client, provider)
    come_back(client, asked, state="another")
    assert not is_signed_in(client)


def test_an_answer_is_taken_once(client, provider):
    asked = go_there(client, provider)
    come_back(client, asked)
    client.post("/logout/")
    come_back(client, asked)
    assert not is_signed_in(client)


def test_a_provider_that_calls_itself_something_else_is_refused(client, provider):
    provider.metadata = {"issuer": "https://evil.example"}
    assert client.get("/login/oidc/")["Location"] == "/login/"


def test_a_provider_cannot_send_our_calls_elsewhere(client, provider, settings):
    asked = go_there(client, provider)
    provider.metadata = {"token_endpoint": "http://169.254.169.254/token"}
    come_back(client, asked)
    assert (is_signed_in(client), provider.forms) == (False, [])


def test_a_deactivated_person_does_not_come_in(client, provider):
    User.objects.create_user("eva", identity=f"{provider.issuer} 4711", is_active=False)
    come_back(client, go_there(client, provider))
    assert not is_signed_in(client)


def test_the_way_back_leads_to_no_other_site(client, provider):
    asked = go_there(client, provider, "https://evil.example/")
    assert come_back(client, asked)["Location"] == "/"


def test_the_client_secret_is_in_no_address_and_no_page(client, provider):
    asked = client.get("/login/oidc/")
    assert SECRET not in asked["Location"]
    assert SECRET not in client.get("/login/").content.decode()


def test_without_a_provider_there_is_no_such_page(client):
    assert client.get("/login/oidc/").status_code == 404
    assert client.get("/login/oidc/back/").status_code == 404
