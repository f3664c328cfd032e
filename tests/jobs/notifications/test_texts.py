import pytest

from jobs.notifications.message import Event
from jobs.notifications.texts import body_of, subject_of
from tests.jobs.notifications.messages import make_item, make_message

RTL, HOSTILE = "\u202egnp", "orders\r\nBcc: eve@example.org"
TWO = (make_item(1), make_item(2))
LIST = "https://console.example.org/incidents/"


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        pytest.param(make_message(), "[Critical] Broker 1 of east down", id="opened"),
        pytest.param(
            make_message(event=Event.WORSE, severity="warning"),
            "[Warning] Broker 1 of east down",
            id="worse",
        ),
        pytest.param(
            make_message(event=Event.REMINDER), "[Reminder] Broker 1 of east down", id="reminder"
        ),
        pytest.param(
            make_message(event=Event.RESOLVED), "[Resolved] Broker 1 of east down", id="resolved"
        ),
        pytest.param(make_message(event=Event.TEST), "crosslog test message", id="test"),
        pytest.param(
            make_message(*TWO), "[Critical] 2 incidents: Broker down, Cluster east", id="all alike"
        ),
        pytest.param(
            make_message(make_item(1), make_item(2, check="disk_full")),
            "[Critical] 2 incidents: Cluster east",
            id="of a cluster",
        ),
        pytest.param(
            make_message(make_item(1), make_item(2, check="disk_full", place="Cluster west")),
            "[Critical] 2 incidents, worst: Broker 1 of east down",
            id="nothing alike",
        ),
        pytest.param(
            make_message(*TWO, total=10_000),
            "[Critical] 10,000 incidents, worst: Broker 1 of east down",
            id="incidents that are not named may be elsewhere",
        ),
        pytest.param(
            make_message(make_item(title=f"{HOSTILE} {RTL}")),
            r"[Critical] orders\u000d\u000aBcc: eve@example.org \u202egnp",
            id="characters without ink",
        ),
    ],
)
def test_a_subject_names_the_incident_or_counts_the_group(message, subject):
    assert subject_of(message) == subject


def test_a_subject_has_at_most_200_characters():
    subject = subject_of(make_message(make_item(title="x" * 600)))
    assert (len(subject), subject[-2:]) == (200, "x…")


def test_a_body_says_what_happened_what_to_do_and_since_when():
    assert body_of(make_message(), LIST).splitlines() == [
        "Broker 1 of east down",
        "Broker 1 down since 08:46:29 UTC: 2 partitions offline.",
        "What to do: Start the broker.",
        "Critical since 2026-11-23 06:55:00 UTC.",
        "https://console.example.org/incidents/1/",
        "",
        "All incidents:",
        LIST,
    ]


def test_a_body_of_a_resolved_incident_says_how_long_it_lasted_and_nothing_to_do():
    body = body_of(make_message(event=Event.RESOLVED)).replace("\u00a0", " ")
    assert "From 2026-11-23 06:55:00 UTC to 2026-11-23 06:59:41 UTC: 4 m 41 s." in body
    assert "What to do" not in body


@pytest.mark.parametrize(
    ("total", "said"),
    [(10_000, "and 9,998 more incidents"), (3, "and 1 more incident"), (2, "")],
)
def test_a_body_counts_the_incidents_that_it_does_not_name(total, said):
    last = body_of(make_message(*TWO, total=total)).strip().split("\n\n")[2:]
    assert last == ([said] if said else [])


def test_a_name_begins_no_line_of_a_body_and_turns_none_around():
    hostile = f"{HOSTILE} {RTL}"
    body = body_of(make_message(make_item(title=hostile, sentence=hostile, todo=hostile)))
    assert len(body.splitlines()) == 5
    assert RTL not in body
    assert body.count(r"orders\u000d\u000aBcc: eve@example.org \u202egnp") == 3


def test_a_message_without_links_has_no_empty_lines():
    assert "\n\n" not in body_of(make_message(make_item(link="", todo="")))
