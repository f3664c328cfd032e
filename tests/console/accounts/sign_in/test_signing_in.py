import time
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from console.accounts.models import AuditEntry, SignInFailures
from console.accounts.sign_in import lockout
from console.accounts.sign_in.sessions import BEGAN, USED, WRITE_EVERY_S, SessionLimits
from tests.console.safety.world import make_person

pytestmark = pytest.mark.django_db
PASSWORD = "a password of vera"


@pytest.fixture
def vera():
    return make_person("vera", "viewer")


def sign_in(client, username="vera", password=PASSWORD, **extra):
    return client.post("/login/", {"username": username, "password": password}, **extra)


def test_signing_in_gives_a_new_session_with_safe_cookies(client, vera):
    client.get("/login/")
    client.session["before"] = True
    answer = sign_in(client)
    cookie = answer.cookies["crosslog_session"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert AuditEntry.objects.get().action == "sign-in"


def test_with_tls_cookies_are_secure_and_browsers_are_told_to_stay_there(client, vera, settings):
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_HSTS_SECONDS = 31_536_000
    answer = sign_in(client, secure=True)
    assert answer.cookies["crosslog_session"]["secure"]
    assert client.get("/login/", secure=True)["Strict-Transport-Security"] == "max-age=31536000"
    assert "Strict-Transport-Security" not in client.get("/login/")


def test_headers_keep_the_browser_at_home(client, vera):
    client.force_login(vera)
    answer = client.get("/")
    assert answer["Referrer-Policy"] == "same-origin"
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert "unsafe-inline" not in answer["Content-Security-Policy"]
    assert "camera=()" in answer["Permissions-Policy"]
    assert (answer["X-Frame-Options"], answer["X-Content-Type-Options"]) == ("DENY", "nosniff")


def test_after_repeated_failures_the_right_password_is_refused_too(client, vera, settings):
    settings.SIGN_IN_FAILURES = 3
    wrong = [sign_in(client, password="wrong").content for _ in range(3)]
    locked = sign_in(client)
    assert locked.status_code == 200
    said = [
        page.decode().split("notice-bar error")[1].split("</div>")[0]
        for page in [wrong[0], locked.content]
    ]
    assert said[0] == said[1]
    assert AuditEntry.objects.filter(outcome="failed").count() == 3
    assert AuditEntry.objects.filter(outcome="failed").order_by("pk").last().after == {
        "locked": ["user"]
    }


def test_a_name_that_does_not_exist_is_answered_the_same(client, vera):
    said = [
        sign_in(client, name, "wrong")
        .content.decode()
        .split("notice-bar error")[1]
        .split("</div>")[0]
        for name in ("vera", "unknown")
    ]
    assert said[0] == said[1]
    assert list(AuditEntry.objects.order_by("pk").values_list("subject", flat=True)) == [
        "person:vera",
        "person:(unknown)",
    ]


def test_the_api_is_locked_with_the_same_count(client, vera, settings):
    import base64

    settings.SIGN_IN_FAILURES = 2

    def ask(password):
        text = base64.b64encode(f"vera:{password}".encode()).decode()
        return client.get(
            "/api/v1/clusters/", headers={"Authorization": f"Basic {text}"}
        ).status_code

    assert [ask(PASSWORD), ask("x"), ask("y"), ask(PASSWORD)] == [200, 401, 401, 401]


def test_upper_and_lower_case_are_one_name(client, vera, settings):
    settings.SIGN_IN_FAILURES = 2
    for name in ("vera", "VERA"):
        sign_in(client, name, "wrong")
    assert lockout.is_locked("Vera", "10.0.0.9", timezone.now())


def test_an_address_is_locked_for_all_names(client, vera, settings):
    settings.SIGN_IN_FAILURES = 1
    for number in range(4):
        sign_in(client, f"name-{number}", "wrong")
    assert lockout.is_locked("vera", "127.0.0.1", timezone.now())
    assert not lockout.is_locked("vera", "127.0.0.2", timezone.now())


def test_a_lock_ends_by_itself_and_leaves_all_tries(settings):
    settings.SIGN_IN_FAILURES, settings.SIGN_IN_LOCK_S = 2, 900
    now = timezone.now()
    for _ in range(2):
        lockout.note_failure("vera", "", now)
    later = now + timedelta(seconds=901)
    assert [lockout.is_locked("vera", "", at) for at in (now, later)] == [True, False]
    assert lockout.note_failure("vera", "", later) == set()


def test_old_failures_do_not_count(settings):
    settings.SIGN_IN_FAILURES, settings.SIGN_IN_LOCK_S = 2, 900
    now = timezone.now()
    lockout.note_failure("vera", "", now)
    assert lockout.note_failure("vera", "", now + timedelta(seconds=901)) == set()
    assert lockout.forget_old(now + timedelta(seconds=2000)) == 1


def test_the_right_password_forgets_failures(client, vera, settings):
    settings.SIGN_IN_FAILURES = 2
    sign_in(client, password="wrong")
    sign_in(client)
    assert not SignInFailures.objects.filter(kind="user").exists()


def test_the_client_cannot_choose_its_address(client, vera, settings):
    sign_in(client, password="wrong", headers={"X-Forwarded-For": "10.9.9.9"})
    assert AuditEntry.objects.get().address == "127.0.0.1"
    settings.TRUSTED_PROXIES = 1
    sign_in(client, password="wrong", headers={"X-Forwarded-For": "10.9.9.9, 192.0.2.7"})
    assert AuditEntry.objects.order_by("pk").last().address == "192.0.2.7"


def age(client, **seconds):
    session = client.session
    for key, ago in seconds.items():
        session[{"began": BEGAN, "used": USED}[key]] -= ago
    session.save()


@pytest.mark.parametrize(
    ("seconds", "status"),
    [
        pytest.param({"used": 719 * 60}, 200, id="used lately"),
        pytest.param({"used": 721 * 60}, 302, id="not used for long"),
        pytest.param({"began": 169 * 3600}, 302, id="too old"),
    ],
)
def test_a_session_ends(client, vera, seconds, status):
    client.force_login(vera)
    age(client, **seconds)
    assert client.get("/").status_code == status


def test_a_page_that_refreshes_itself_keeps_no_session_alive(client, vera):
    client.force_login(vera)
    age(client, used=3600)
    used = client.session[USED]
    client.get("/", headers={"HX-Request": "true", "HX-Target": "live", "HX-Trigger": "live"})
    assert client.session[USED] == used
    client.get("/")
    assert client.session[USED] > used


def test_a_session_that_ends_while_its_use_is_noted_is_left_to_the_framework(
    client, vera, settings
):
    client.force_login(vera)
    request = RequestFactory().get("/", headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}=x"})
    request.user, request.session = vera, client.session
    assert request.session.get(BEGAN)

    def meanwhile() -> float:
        Session.objects.all().delete()
        return time.time() + WRITE_EVERY_S + 1

    answer = SessionLimits(lambda asked: HttpResponse("answered"), clock=meanwhile)(request)
    assert answer.content == b"answered"
    assert request.session.modified


def test_a_one_time_password_leads_to_a_password_of_ones_own(client, vera):
    vera.must_change_password = True
    vera.save()
    sign_in(client)
    assert client.get("/clusters/")["Location"] == "/account/password/"
    assert client.get("/api/v1/clusters/").status_code == 403
    new = {
        "old_password": PASSWORD,
        "new_password1": "quite another 77",
        "new_password2": "quite another 77",
    }
    assert client.post("/account/password/", new).status_code == 302
    assert client.get("/clusters/").status_code == 200


def test_a_changed_password_ends_the_other_sessions(client, vera):
    from django.test import Client

    other = Client()
    sign_in(other), sign_in(client)
    new = {
        "old_password": PASSWORD,
        "new_password1": "quite another 77",
        "new_password2": "quite another 77",
    }
    client.post("/account/password/", new)
    assert (client.get("/").status_code, other.get("/").status_code) == (200, 302)
