"""Sign-in against a provider that the test runs itself: real HTTP, real RS256 keys."""

import base64
import time

import pytest

from console.accounts.models import AuditEntry, User
from tests.console.accounts.oidc_provider import OTHER, SECRET, come_back, go_there, is_signed_in

pytestmark = pytest.mark.django_db


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
