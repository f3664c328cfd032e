"""SCRAM against the examples of its RFCs, and a server that does not know the password."""

import pytest

from jobs.cluster.protocol.transport.scram import ScramClient, ScramFailed

# RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def client(password="pencil"):
    return ScramClient("sha256", "user", password, NONCE)


def test_the_example_of_rfc_7677():
    one = client()
    assert one.first() == FIRST
    assert one.final(SERVER_FIRST) == FINAL
    one.verify(SERVER_FINAL)


def test_the_example_of_rfc_5802():
    one = ScramClient("sha1", "user", "pencil", "fyko+d2lbbFgONRv9qkxdawL")
    server = b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
    assert one.final(server).endswith(b",p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=")
    one.verify(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=")


def test_a_server_that_does_not_know_the_password_is_not_believed():
    one = client("another")
    one.final(SERVER_FIRST)
    with pytest.raises(ScramFailed, match="may not be the real one"):
        one.verify(SERVER_FINAL)


def test_a_server_cannot_end_the_exchange_before_it_began():
    with pytest.raises(ScramFailed):
        client().verify(b"v=")


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(b"r=someone-else,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", id="another nonce"),
        pytest.param(b"r=" + NONCE.encode() + b",s=W22Z,i=4096", id="our nonce alone"),
        pytest.param(SERVER_FIRST.replace(b"4096", b"4095"), id="too few iterations"),
        pytest.param(SERVER_FIRST.replace(b"4096", b"9" * 12), id="iterations without end"),
        pytest.param(SERVER_FIRST.replace(b"4096", b"-1"), id="negative iterations"),
        pytest.param(SERVER_FIRST.replace(b"W22", b"*&^"), id="a salt that is not base64"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_a_first_message_that_is_wrong_is_refused(message):
    with pytest.raises(ScramFailed):
        client().final(message)


def test_the_servers_own_error_is_told():
    one = client()
    one.final(SERVER_FIRST)
    with pytest.raises(ScramFailed, match="unknown-user"):
        one.verify(b"e=unknown-user")


def test_a_user_name_with_a_comma_does_not_break_the_message():
    assert ScramClient("sha256", "a,b=c", "x", "N").first() == b"n,,n=a=2Cb=3Dc,r=N"
