import pytest

from console.frame.security.masking import MASKED, mark_of, masked, shown_address

HOOK = "https://hooks.example:8443/services/T0/B0/PLANTED?key=PLANTED#PLANTED"
SHOWN = f"https://hooks.example:8443/… {mark_of(HOOK)}"


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({"password": "hunter2"}, {"password": MASKED}),
        ({"sasl_password": "env:CROSSLOG_SECRET_X"}, {"sasl_password": "env:CROSSLOG_SECRET_X"}),
        ({"ssl_key": "-----BEGIN"}, {"ssl_key": MASKED}),
        ({"client_secret": ""}, {"client_secret": ""}),
        ({"outer": [{"api_token": "abc"}]}, {"outer": [{"api_token": MASKED}]}),
        ({"topics": ["keys", "tokens"]}, {"topics": ["keys", "tokens"]}),
        ({"sasl.jaas.config": "x password=hunter2;"}, {"sasl.jaas.config": MASKED}),
        ({"basic.auth.user.info": "user:hunter2"}, {"basic.auth.user.info": MASKED}),
        ({"Authorization": "Basic abc"}, {"Authorization": MASKED}),
        ({"apiKey": "abc"}, {"apiKey": MASKED}),
        ({"ssl.key": "abc"}, {"ssl.key": MASKED}),
        ({"passphrase": "abc"}, {"passphrase": MASKED}),
    ],
)
def test_secrets_are_masked_by_their_names(values, kept):
    assert masked(values) == kept


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({"recipients": [{"channel": "webhook", "address": HOOK}]},
         {"recipients": [{"channel": "webhook", "address": SHOWN}]}),
        ({"webhook_url": "hooks.example/PLANTED"},
         {"webhook_url": f"hooks.example/… {mark_of('hooks.example/PLANTED')}"}),
        ({"callbackUrl": HOOK}, {"callbackUrl": SHOWN}),
        ({"uri": "amqp://user:PLANTED@mq/PLANTED"},
         {"uri": f"amqp://mq/… {mark_of('amqp://user:PLANTED@mq/PLANTED')}"}),
        ({"proxy": "http://user:PL@NTED@proxy:3128"}, {"proxy": "http://proxy:3128"}),
        ({"proxies": ["user:PLANTED@proxy:3128"]}, {"proxies": ["proxy:3128"]}),
        ({"endpoint": "user:PLANTED@host/in"},
         {"endpoint": f"host/… {mark_of('user:PLANTED@host/in')}"}),
        ({"endpoint": "http://user:PLAN/TED@host/in"},
         {"endpoint": f"http://…/… {mark_of('http://user:PLAN/TED@host/in')}"}),
        ({"address": "ops@example.org"}, {"address": f"o…@example.org {mark_of('ops@example.org')}"}),
        ({"address": "weekly/availability"}, {"address": "weekly/availability"}),
        ({"address": "10.0.0.1"}, {"address": "10.0.0.1"}),
        ({"bootstrap_servers": "a:9092,b:9092"}, {"bootstrap_servers": "a:9092,b:9092"}),
        ({"sentence": f"404 at {HOOK}."}, {"sentence": f"404 at {SHOWN}."}),
        ({"sasl_oauthbearer_token_url": "https://login.example/t"},
         {"sasl_oauthbearer_token_url": f"https://login.example/… {mark_of('https://login.example/t')}"}),
        ({"link": "/reports/1/"}, {"link": "/reports/1/"}),
        ({"url": "https://hooks.example/"}, {"url": "https://hooks.example/"}),
    ],
    ids=lambda value: next(iter(value)),
)  # fmt: skip
def test_addresses_are_masked_by_their_names(values, kept):
    assert masked(values) == kept


def test_an_address_that_is_a_name_is_masked_too():
    assert masked({"answers": {HOOK: "404"}}) == {"answers": {SHOWN: "404"}}


def test_what_is_masked_stays_as_it_is_when_it_is_masked_once_more():
    given = {
        "address": [HOOK, "ops@example.org"],
        "url": "h.example/PLANTED",
        "text": f"to {HOOK}, then",
    }
    once = masked(given)
    assert masked(once) == once
    assert "PLANTED" not in str(once)


def test_one_address_has_one_mark_and_another_key_gives_another(settings):
    assert shown_address(HOOK) == shown_address(HOOK) == SHOWN
    assert shown_address(f"{HOOK}x") != SHOWN
    settings.SECRET_KEY = "another key"
    assert shown_address(HOOK) != SHOWN


def test_a_value_of_a_megabyte_is_masked_at_once():
    for text in ("@" * 1_000_000, "a" * 1_000_000, "https://" * 100_000, "http://a@" * 100_000):
        assert len(masked(text, "address")) <= 2000
