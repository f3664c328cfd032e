from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from console.accounts.models import AuditEntry, ServiceToken
from console.accounts.tokens import COOKIE, LASTS_S, digest_of, find_token
from tests.console.making import make_cluster
from tests.console.safety.world import bearer, make_person, make_token

pytestmark = pytest.mark.django_db
WISH = {"name": "nightly", "role": "viewer", "days": 30}


def test_the_secret_is_in_the_answer_to_its_creation_and_only_its_hash_is_kept(client):
    client.force_login(make_person("vera", "viewer"))
    made = client.post("/api/v1/tokens/", WISH, content_type="application/json")
    assert made.status_code == 201
    secret, token = made.json()["secret"], ServiceToken.objects.get()
    assert secret.startswith(f"crosslog_{token.prefix}_")
    assert token.digest == digest_of(secret)
    assert secret.split("_", 2)[2] not in str(vars(token))
    assert secret not in client.get("/api/v1/tokens/").content.decode()
    assert client.get("/api/v1/clusters/", headers=bearer(secret)).status_code == 200


def test_the_page_shows_the_secret_once_after_a_redirect_and_a_reload_makes_no_other_token(client):
    client.force_login(make_person("vera", "viewer"))
    answer = client.post("/account/tokens/", WISH)
    assert (answer.status_code, answer["Location"]) == (302, "/account/tokens/")
    shown = client.get("/account/tokens/")
    token = ServiceToken.objects.get()
    secret = f"crosslog_{token.prefix}_"
    assert secret in shown.content.decode()
    assert shown["Cache-Control"] == "no-store"
    assert secret not in client.get("/account/tokens/").content.decode()
    assert ServiceToken.objects.get() == token


def test_the_secret_on_its_way_to_the_page_is_for_this_person_and_this_page_only(client):
    client.force_login(make_person("vera", "viewer"))
    client.post("/account/tokens/", WISH)
    cookie = client.cookies[COOKIE]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
    assert (cookie["path"], cookie["max-age"]) == ("/account/tokens/", LASTS_S)
    secret = cookie.value.partition(":")[0]
    assert secret in client.get("/account/tokens/").content.decode()
    other = Client()
    other.force_login(make_person("ada", "admin"))
    other.cookies[COOKIE] = cookie.value
    assert secret not in other.get("/account/tokens/").content.decode()


def test_a_refused_token_keeps_what_was_typed(client):
    client.force_login(make_person("vera", "viewer"))
    answer = client.post("/account/tokens/", WISH | {"days": 0})
    assert answer.status_code == 200
    assert 'value="nightly"' in answer.content.decode()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"days": 0}, "days"),
        ({"days": 366}, "days"),
        ({"days": None}, "days"),
        ({"role": "none"}, "role"),
        ({"role": "emperor"}, "role"),
        ({"name": ""}, "name"),
        ({"clusters": ["nowhere"]}, "clusters"),
        ({"clusters": ["dark"]}, "clusters"),
        ({"owner": "ada"}, "owner"),
    ],
)
def test_a_token_that_makes_no_sense_is_refused(client, wrong, field):
    make_cluster("east"), make_cluster("dark")
    client.force_login(make_person("eva", east="viewer"))
    answer = client.post("/api/v1/tokens/", WISH | wrong, content_type="application/json")
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])
    assert not ServiceToken.objects.exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"revoked_at": timezone.now()},
        {"expires_at": timezone.now() - timedelta(seconds=1)},
    ],
    ids=["revoked", "expired"],
)
def test_a_dead_token_is_a_401(client, fields):
    _, secret = make_token(make_person("ada", "admin"), **fields)
    answer = client.get("/api/v1/clusters/", headers=bearer(secret))
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="crosslog"')


def test_the_token_of_a_deactivated_owner_opens_nothing(client):
    owner = make_person("ada", "admin")
    _, secret = make_token(owner)
    owner.is_active = False
    owner.save()
    assert client.get("/api/v1/clusters/", headers=bearer(secret)).status_code == 401


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer a b", "Bearer crosslog_x", "Bearer \xff", "bearer "]
)
def test_a_malformed_header_is_a_401(client, header):
    assert client.get("/api/v1/clusters/", headers={"Authorization": header}).status_code == 401


def test_a_token_whose_last_cluster_was_forgotten_opens_no_other(client):
    east = make_cluster("east")
    make_cluster("west")
    _, secret = make_token(make_person("ada", "admin"), clusters=[east])
    east.delete()
    assert client.get("/api/v1/clusters/", headers=bearer(secret)).status_code == 403


def test_a_token_makes_no_tokens_and_no_people(client):
    _, secret = make_token(make_person("ada", "admin"))
    for path, body in (("tokens", WISH), ("people", {"username": "eve", "role": "admin"})):
        answer = client.post(
            f"/api/v1/{path}/", body, content_type="application/json", headers=bearer(secret)
        )
        assert answer.status_code == 403
    assert client.get("/api/v1/tokens/", headers=bearer(secret)).status_code == 403


def test_the_last_use_is_written_once_a_minute():
    token, secret = make_token(make_person("vera", "viewer"))
    now = timezone.now()
    for seconds, written in ((0, 0), (30, 0), (61, 61)):
        find_token(secret, now + timedelta(seconds=seconds))
        token.refresh_from_db()
        assert token.last_used_at == now + timedelta(seconds=written)


def test_people_see_and_revoke_their_own_tokens_and_administrators_all(client):
    token, secret = make_token(make_person("ada", "admin"))
    client.force_login(make_person("vera", "viewer"))
    assert client.get("/api/v1/tokens/").json()["results"] == []
    assert client.delete(f"/api/v1/tokens/{token.pk}/").status_code == 404
    assert client.post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    client.force_login(make_person("root", "admin"))
    assert client.post(f"/account/tokens/{token.pk}/revoke/").status_code == 302
    assert find_token(secret) is None


def test_the_button_on_the_page_revokes_as_a_browser_sends_it():
    token, secret = make_token(make_person("ada", "admin"))
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(token.owner)
    text = browser.get("/account/tokens/").content.decode()
    address = f"/account/tokens/{token.pk}/revoke/"
    assert f'form="revoke" formaction="{address}"' in text
    form = text[text.index('<form id="revoke"') :].partition("</form>")[0]
    csrf = form.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    assert browser.post(address).status_code == 403
    assert browser.post(address, {"csrfmiddlewaretoken": csrf}).status_code == 302
    assert find_token(secret) is None


def test_making_and_revoking_are_in_the_trail_without_the_secret(client):
    client.force_login(make_person("vera", "viewer"))
    secret = client.post("/api/v1/tokens/", WISH, content_type="application/json").json()["secret"]
    client.delete(f"/api/v1/tokens/{ServiceToken.objects.get().pk}/")
    entries = list(AuditEntry.objects.order_by("pk"))
    assert [entry.action for entry in entries] == ["token.create", "token.revoke"]
    assert secret.split("_", 2)[2] not in str([vars(entry) for entry in entries])
    assert entries[0].after == {"role": "viewer", "clusters": [], "days": 30}
