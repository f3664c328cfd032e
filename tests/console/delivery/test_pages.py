import pytest

from console.accounts.models import ClusterGrant
from console.delivery.models import Delivery, DeliveryState
from tests.console.delivery.making import make_delivery
from tests.console.making import count_queries, make_cluster, make_user

pytestmark = pytest.mark.django_db

PAGE, ROUTE = "/deliveries/", "/api/v1/deliveries/"
SECRET_PATH = "https://hooks.example.org/services/T0/B0/secretsecret"


def test_the_page_shows_each_delivery_with_what_happened_and_a_way_to_retry(sign_in, admin):
    delivery = make_delivery()
    page = sign_in(admin).get(PAGE).content.decode()
    assert "ops@example.org" in page
    assert "did not answer: no answer within 20 s." in page
    assert f"{PAGE}{delivery.pk}/retry/" in page


def test_the_page_says_which_channels_are_set_up_without_secrets(sign_in, admin, settings):
    settings.EMAIL_HOST, settings.EMAIL_PORT = "mail.example.org", 587
    settings.DEFAULT_FROM_EMAIL = "crosslog@example.org"
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "crosslog", "a mail password"
    settings.WEBHOOK_KEY, settings.OUTBOUND_HOSTS = "a webhook key of ours", ["hooks.example.org"]
    page = sign_in(admin).get(PAGE).content.decode()
    assert "mail.example.org:587 (STARTTLS, signed in as crosslog)" in page
    assert "hooks.example.org" in page
    assert "Set REPORT_FOLDER" in page
    assert "a mail password" not in page
    assert "a webhook key" not in page


def test_the_path_of_a_webhook_is_in_no_page_route_or_export(sign_in, admin):
    make_delivery(channel="webhook", address=SECRET_PATH)
    client = sign_in(admin)
    export = b"".join(client.get(f"{PAGE}?format=csv").streaming_content).decode()
    for text in (client.get(PAGE).content.decode(), client.get(ROUTE).content.decode(), export):
        assert "hooks.example.org" in text
        assert "secretsecret" not in text


def test_the_button_tries_again(sign_in, admin):
    delivery = make_delivery()
    answer = sign_in(admin).post(f"{PAGE}{delivery.pk}/retry/", follow=True)
    assert "The delivery is tried again" in answer.content.decode()
    assert Delivery.objects.get().state == DeliveryState.PENDING


def test_a_test_message_is_sent_from_the_page(sign_in, admin, mailbox):
    given = {"channel": "email", "address": "ops@example.org"}
    page = sign_in(admin).post(f"{PAGE}test/", given, follow=True).content.decode()
    assert "accepted it: 250 OK: queued as 4711." in page
    assert len(mailbox.messages) == 1


def test_what_is_wrong_with_a_test_is_said_at_its_field(sign_in, admin, mailbox):
    given = {"channel": "email", "address": "ops"}
    page = sign_in(admin).post(f"{PAGE}test/", given).content.decode()
    assert "This is no e-mail address" in page
    assert 'value="ops"' in page


def test_the_page_needs_as_many_queries_for_many_deliveries(sign_in, admin):
    make_delivery()
    few = count_queries(sign_in(admin), PAGE)
    for _ in range(5):
        make_delivery()
    assert count_queries(sign_in(admin), PAGE) == few


def test_deliveries_are_listed_with_their_log(sign_in, viewer):
    delivery = make_delivery()
    (row,) = sign_in(viewer).get(f"{ROUTE}?state=gave_up").json()["results"]
    assert (row["id"], row["run"], row["subject"]) == (
        delivery.pk, str(delivery.run_id), "Weekly availability",
    )  # fmt: skip
    assert row["log"][0]["outcome"] == "gave_up"
    assert sign_in(viewer).get(f"{ROUTE}?state=pending").json()["results"] == []


def test_deliveries_are_visible_to_whoever_sees_the_report(sign_in):
    east, dark = make_cluster("east"), make_cluster("dark")
    shown, _, _ = make_delivery(east), make_delivery(east, dark), make_delivery()
    person = make_user("none", "eva")
    ClusterGrant.objects.create(user=person, cluster=east, role="viewer")
    rows = sign_in(person).get(ROUTE).json()["results"]
    assert [row["id"] for row in rows] == [shown.pk]


def test_deliveries_of_reports_for_administrators_are_visible_to_them_alone(sign_in, viewer, admin):
    make_delivery(for_admins=True)
    assert sign_in(viewer).get(ROUTE).json()["results"] == []
    assert len(sign_in(admin).get(ROUTE).json()["results"]) == 1


def test_retry_and_test_over_rest(sign_in, admin, folder):
    delivery = make_delivery()
    client = sign_in(admin)
    assert client.post(f"{ROUTE}{delivery.pk}/retry/").json()["state"] == "pending"
    assert client.post(f"{ROUTE}{delivery.pk}/retry/").json()["code"] == "not_over"
    given = {"channel": "folder", "address": "weekly"}
    answer = client.post(f"{ROUTE}test/", given, content_type="application/json")
    assert answer.json()["sentence"].startswith("Written to")
    wrong = client.post(f"{ROUTE}test/", given | {"address": ".."}, content_type="application/json")
    assert (wrong.status_code, list(wrong.json()["fields"])) == (400, ["address"])
