import pytest

from console.delivery.destinations import MOST, check_recipients, lines_of, parse_lines
from jobs.cluster.errors import InvalidFields


@pytest.fixture(autouse=True)
def everything_set_up(settings, tmp_path):
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "crosslog@example.org"
    settings.REPORT_FOLDER = str(tmp_path)
    settings.WEBHOOK_KEY = "a key of twenty letters"
    settings.OUTBOUND_HOSTS = ["hooks.example.org"]


def one(channel, address):
    return [{"channel": channel, "address": address}]


@pytest.mark.parametrize(
    ("channel", "given", "kept"),
    [
        pytest.param("email", " Ops@Example.ORG ", "Ops@example.org", id="an e-mail address"),
        pytest.param("email", "ops@bücher.example", "ops@xn--bcher-kva.example", id="IDN"),
        pytest.param("folder", "weekly/availability", "weekly/availability", id="a folder"),
        pytest.param("folder", "weekly//2026/", "weekly/2026", id="a folder with more slashes"),
        pytest.param(
            "webhook", "https://hooks.example.org/x?y=1", "https://hooks.example.org/x?y=1", id="a webhook"
        ),
    ],
)  # fmt: skip
def test_an_address_is_kept_as_it_is_used(channel, given, kept):
    assert check_recipients(one(channel, given)) == one(channel, kept)


@pytest.mark.parametrize(
    ("channel", "address", "why"),
    [
        pytest.param("pigeon", "home", "The channel is one of", id="no such channel"),
        pytest.param("email", "ops", "no e-mail address", id="no domain"),
        pytest.param("email", "", "is needed", id="nothing"),
        pytest.param("email", "ops@example.org\nBcc: eve@example.org", "visible", id="a header"),
        pytest.param("email", "ops@example.org, eve@example.org", "no e-mail", id="two addresses"),
        pytest.param("email", "Ops <ops@example.org>", "no e-mail address", id="with a name"),
        pytest.param("email", '"a\x01"@example.org', "visible", id="control character"),
        pytest.param("email", "\u202eops@example.org", "visible", id="a mark that turns the text"),
        pytest.param("email", f"{'a' * 600}@example.org", "up to 500", id="too long"),
        pytest.param("folder", "../x", "relative to REPORT_FOLDER", id="a folder above"),
        pytest.param("folder", "a/../../x", "relative to REPORT_FOLDER", id="above, later"),
        pytest.param("folder", "/etc", "relative to REPORT_FOLDER", id="an absolute folder"),
        pytest.param("folder", ".", "relative to REPORT_FOLDER", id="the root itself"),
        pytest.param("folder", ".ssh", "relative to REPORT_FOLDER", id="a hidden folder"),
        pytest.param("webhook", "https://other.example/x", "OUTBOUND_HOSTS", id="another host"),
        pytest.param("webhook", "http://hooks.example.org/", "only https", id="no TLS"),
        pytest.param("webhook", "https://u:p@hooks.example.org/", "without user", id="a password"),
    ],
)
def test_what_cannot_be_reached_or_may_not_be_is_refused_at_its_field(channel, address, why):
    with pytest.raises(InvalidFields) as wrong:
        check_recipients(one(channel, address))
    assert why in wrong.value.errors["recipients"]


@pytest.mark.parametrize(
    ("setting", "channel", "address", "named"),
    [
        ("EMAIL_HOST", "email", "ops@example.org", "MAIL_HOST"),
        ("REPORT_FOLDER", "folder", "weekly", "REPORT_FOLDER"),
        ("WEBHOOK_KEY", "webhook", "https://hooks.example.org/", "WEBHOOK_KEY"),
    ],
)
def test_a_channel_that_is_not_set_up_says_what_to_set(settings, setting, channel, address, named):
    setattr(settings, setting, "")
    with pytest.raises(InvalidFields, match=f"set {named}"):
        check_recipients(one(channel, address))


def test_only_allowed_domains_get_reports(settings):
    settings.MAIL_DOMAINS = ["example.org"]
    assert check_recipients(one("email", "ops@example.org"))
    with pytest.raises(InvalidFields, match="only to addresses of example"):
        check_recipients(one("email", "ops@evil-example.org"))


def test_duplicates_are_removed():
    twice = one("email", "ops@example.org") + one("email", "ops@EXAMPLE.org")
    assert check_recipients(twice) == one("email", "ops@example.org")


@pytest.mark.parametrize("given", [None, "ops@example.org", ["ops@example.org"], {"a": 1}])
def test_what_is_no_list_of_recipients_is_refused(given):
    with pytest.raises(InvalidFields, match="Give a list"):
        check_recipients(given)


def test_there_are_not_too_many_recipients():
    with pytest.raises(InvalidFields, match=f"At most {MOST}"):
        check_recipients([*one("email", "ops@example.org")] * (MOST + 1))


def test_recipients_are_a_text_with_a_line_for_each():
    lines = "ops@example.org\nfolder:weekly\nhttps://hooks.example.org/x"
    recipients = parse_lines(f"\n {lines} \n\n")
    assert [one["channel"] for one in recipients] == ["email", "folder", "webhook"]
    assert lines_of(check_recipients(recipients)) == lines
