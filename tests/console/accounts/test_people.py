import pytest

from console.accounts.models import AuditEntry, User
from tests.console.making import make_cluster
from tests.console.safety.world import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(client):
    ada = make_person("ada", "admin")
    client.force_login(ada)
    return ada


def api(client, path, body=None, method="post"):
    return getattr(client, method)(
        f"/api/v1/people/{path}", body or {}, content_type="application/json"
    )


def test_a_person_is_added_with_a_password_for_one_sign_in(client, ada):
    made = client.post("/people/new/", {"username": "otto", "role": "operator"})
    otto = User.objects.get(username="otto")
    assert (made.status_code, made["Location"]) == (302, f"/people/{otto.pk}/")
    answer = client.get(f"/people/{otto.pk}/")
    shown = answer.content.decode().split("data-secret")[1].split("<code>")[1].split("</code>")[0]
    assert otto.check_password(shown)
    assert (otto.role, otto.must_change_password) == ("operator", True)
    assert shown not in client.get(f"/people/{otto.pk}/").content.decode()
    assert shown not in str([vars(entry) for entry in AuditEntry.objects.all()])


def test_a_new_one_time_password_is_shown_once_and_a_reload_sets_no_other(client, ada):
    eva = make_person("eva", "viewer")
    made = client.post(f"/people/{eva.pk}/reset-password/")
    assert (made.status_code, made["Location"]) == (302, f"/people/{eva.pk}/")
    answer = client.get(f"/people/{eva.pk}/")
    shown = answer.content.decode().split("data-secret")[1].split("<code>")[1].split("</code>")[0]
    eva.refresh_from_db()
    assert eva.check_password(shown)
    assert shown not in client.get(f"/people/{eva.pk}/").content.decode()
    eva.refresh_from_db()
    assert eva.check_password(shown)


@pytest.mark.parametrize("username", ["ada", "", "with a blank", "<script>"])
def test_a_name_that_cannot_be_is_said_at_the_field(client, ada, username):
    answer = api(client, "", {"username": username})
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["username"])


def test_a_grant_opens_one_cluster_and_can_be_taken_away(client, ada):
    make_cluster("east"), make_cluster("west")
    eva = make_person("eva")
    client.post(f"/people/{eva.pk}/grant/", {"cluster": "east", "role": "operator"})
    assert api(client, f"{eva.pk}/", method="get").json()["grants"] == [
        {"cluster": "east", "role": "operator"}
    ]
    client.force_login(eva)
    assert [client.get(f"/clusters/{a}/").status_code for a in ("east", "west")] == [200, 404]
    client.force_login(ada)
    client.post(f"/people/{eva.pk}/grant/", {"cluster": "east", "role": ""})
    client.force_login(eva)
    assert client.get("/clusters/east/").status_code == 403


def test_the_last_administrator_stays(client, ada):
    for change in ({"role": "viewer"}, {"is_active": False}):
        answer = api(client, f"{ada.pk}/", change, "patch")
        assert (answer.status_code, answer.json()["code"]) == (409, "last_admin")
    ada.refresh_from_db()
    assert (ada.role, ada.is_active) == ("admin", True)


def test_a_deactivated_person_is_out_at_once(client, ada):
    from django.test import Client

    eva, browser = make_person("eva", "viewer"), Client()
    browser.force_login(eva)
    assert browser.get("/").status_code == 200
    client.post(f"/people/{eva.pk}/active/", {"is_active": "false"})
    assert browser.get("/").status_code == 302


def test_a_reset_password_is_new_and_ends_sessions(client, ada):
    eva = make_person("eva", "viewer")
    password = api(client, f"{eva.pk}/reset-password/").json()["password"]
    eva.refresh_from_db()
    assert (eva.check_password(password), eva.must_change_password) == (True, True)


def test_every_change_is_in_the_trail_with_before_and_after(client, ada):
    make_cluster("east")
    eva = make_person("eva", "viewer")
    api(client, f"{eva.pk}/", {"role": "operator"}, "patch")
    api(client, f"{eva.pk}/grant/", {"cluster": "east", "role": "admin"})
    rows = AuditEntry.objects.order_by("pk").values_list("action", "subject", "before", "after")
    assert list(rows) == [
        ("person.change", "person:eva", {"role": "viewer"}, {"role": "operator"}),
        ("person.grant", "person:eva", {"role": ""}, {"role": "admin"}),
    ]


def test_an_administrator_of_a_cluster_administers_no_people(client):
    make_cluster("east")
    client.force_login(make_person("eva", east="admin"))
    assert client.get("/people/").status_code == 403
    assert client.get("/audit/").status_code == 403
