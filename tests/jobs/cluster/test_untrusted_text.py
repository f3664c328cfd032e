"""What a broker says of a secret that it knows, and how long it may talk."""

import base64
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.errors import Unreachable
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.untrusted_text import (
    CUT,
    MOST_CHARACTERS,
    cut_out,
    redact_secrets,
    register_secret,
    shortened,
)

SECRET = 'Pa"ss/w+rd&ü-77'
RAW = SECRET.encode()


@pytest.fixture(autouse=True)
def known():
    register_secret(SECRET)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(SECRET, id="as it is"),
        pytest.param(SECRET.upper(), id="in capitals"),
        pytest.param(SECRET[::-1], id="backwards"),
        pytest.param(quote(SECRET), id="quoted as a path"),
        pytest.param(quote(SECRET, safe=""), id="quoted as a value"),
        pytest.param(html.escape(SECRET), id="escaped for HTML"),
        pytest.param(json.dumps(SECRET), id="as JSON"),
        pytest.param(RAW.hex(), id="as hex"),
        pytest.param(base64.b64encode(RAW).decode(), id="as base64"),
        pytest.param(base64.b64encode(b"\0ada\0" + RAW).decode(), id="as the token of SASL/PLAIN"),
        pytest.param(base64.b64encode(b"\0eva1\0" + RAW + b"!").decode(), id="inside base64"),
        pytest.param(base64.urlsafe_b64encode(b"x" + RAW).decode(), id="inside base64 for URLs"),
    ],
)
def test_a_secret_is_cut_out_in_whatever_form_it_comes_back(said):
    text = redact_secrets(f"no such password: {said}!")
    assert CUT in text
    for form in (SECRET, SECRET[::-1], quote(SECRET), RAW.hex(), base64.b64encode(RAW).decode()):
        assert form.casefold()[2:-4] not in text.casefold()


@given(st.binary(max_size=7), st.binary(max_size=7))
def test_wherever_it_stands_in_base64_most_of_it_is_gone(before, after):
    text = redact_secrets(base64.b64encode(before + RAW + after).decode())
    assert CUT in text


def test_a_fault_never_repeats_a_secret():
    where = Where("east", 1, "Fetching")
    assert SECRET not in answer_fault(58, where, f"wrong password {SECRET}").message
    fault = Unreachable(f"it said {SECRET}", cluster="east")
    assert SECRET not in str(fault) + fault.message + repr(fault)


def test_others_are_cut_short_and_stay_on_one_line():
    said = shortened("a\nb\x1b[31m\u202ec\x00" + "x" * 1000)
    assert len(said) == MOST_CHARACTERS
    assert said.startswith("a b [31m c x")


def test_a_short_secret_is_cut_out_as_it_is_and_an_empty_one_changes_nothing():
    for short in ("q7", "", "\n"):
        register_secret(short)
    assert redact_secrets("user q7 refused") == f"user {CUT} refused"
    assert redact_secrets("a plain sentence") == "a plain sentence"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at https://h.example:8443/a/b?c=d#e.", "at https://h.example:8443/…."),
        ("(http://h.example/a), and", "(http://h.example/…), and"),
        ("https://user:secret@h.example", "https://h.example"),
        ("https://user:secret@h.example?q", "https://h.example/…"),
        ('{"url":"https://h.example/a"}', '{"url":"https://h.example/…"}'),
        ("https://[fd00::1]:1/a", "https://[fd00::1]:1/…"),
        ("HTTPS://H.example/A wss://h.example/b", "HTTPS://H.example/… wss://h.example/…"),
        (
            "see https://h.example/ or https://h.example/…",
            "see https://h.example/ or https://h.example/…",
        ),
        ("PLAINTEXT://h:9092/x file:///etc/x", "PLAINTEXT://h:9092/x file:///etc/x"),
    ],
)
def test_of_a_url_in_a_text_only_scheme_host_and_port_are_shown(text, shown):
    assert redact_secrets(text) == shown


def test_a_secret_of_one_text_is_cut_out_of_this_text_only():
    assert cut_out("no /hook/0815 here", ["/hook/0815"]) == f"no {CUT} here"
    assert redact_secrets("no /hook/0815 here") == "no /hook/0815 here"
