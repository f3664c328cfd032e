"""What librdkafka says, captured from 2.16.0, and the fault that it means."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from jobs.cluster.errors import (
    AuthenticationFailed,
    NameNotResolved,
    NotAuthorized,
    ProtocolMismatch,
    RecordTooLarge,
    Refused,
    TimedOut,
    TlsFailed,
    UnknownTopicOrPartition,
    Unreachable,
)
from jobs.cluster.librdkafka_errors import TransportNotes, error_in, explain, fault_of, sentence_of

REFUSED = (
    "[thrd:127.0.0.1:23999/bootstrap]: 127.0.0.1:23999/bootstrap: Connect to ipv4#127.0.0.1:23999 "
    "failed: Connection refused (after 0ms in state CONNECT)"
)
WRONG_PASSWORD = (
    "sasl_plaintext://127.0.0.1:23301/bootstrap: SASL authentication error: Authentication failed: "
    "Invalid username or password (after 100ms in state AUTH_REQ)"
)
DISCONNECTED = (
    "127.0.0.1:23301/bootstrap: Disconnected: connection closed by peer: receive 0 after POLLIN "
    "(after 0ms in state APIVERSION_QUERY)"
)


@pytest.mark.parametrize(
    ("line", "kind", "field"),
    [
        pytest.param(REFUSED, Unreachable, "bootstrap_servers", id="refused"),
        pytest.param(
            "no-such-host.invalid:9092/bootstrap: Failed to resolve 'no-such-host.invalid:9092': "
            "Name or service not known (after 1ms in state CONNECT)",
            NameNotResolved,
            "bootstrap_servers",
            id="unresolvable",
        ),
        pytest.param(
            "127.0.0.1:23001/bootstrap: Connection setup timed out in state APIVERSION_QUERY "
            "(after 3000ms in state APIVERSION_QUERY)",
            TimedOut,
            "bootstrap_servers",
            id="takes-connections-and-hangs",
        ),
        pytest.param(
            "10.0.0.1:9092/bootstrap: Connection setup timed out in state CONNECT "
            "(after 3000ms in state CONNECT)",
            Unreachable,
            "bootstrap_servers",
            id="packets-get-lost",
        ),
        pytest.param(
            "ssl://127.0.0.1:23001/bootstrap: Connection setup timed out in state SSL_HANDSHAKE "
            "(after 3004ms in state SSL_HANDSHAKE)",
            TimedOut,
            "bootstrap_servers",
            id="hangs-in-the-tls-handshake",
        ),
        pytest.param(
            "ssl://127.0.0.1:23003/bootstrap: SSL handshake failed: error:0A00010B:SSL "
            "routines::wrong version number (after 0ms in state SSL_HANDSHAKE)",
            TlsFailed,
            "security_protocol",
            id="tls-to-something-that-answers-in-plaintext",
        ),
        pytest.param(
            "ssl://127.0.0.1:23101/bootstrap: SSL handshake failed: Disconnected: SSL connection "
            "closed by peer: connecting to a PLAINTEXT broker listener? (after 0ms in state "
            "SSL_HANDSHAKE)",
            TlsFailed,
            "security_protocol",
            id="tls-to-a-plaintext-listener",
        ),
        pytest.param(
            "ssl://localhost:23401/bootstrap: SSL handshake failed: error:0A000086:SSL "
            "routines::certificate verify failed: broker certificate could not be verified, verify "
            "that ssl.ca.location is correctly configured (after 1ms in state SSL_HANDSHAKE)",
            TlsFailed,
            "ssl_ca",
            id="unknown-ca",
        ),
        pytest.param(
            "[thrd:127.0.0.1:23002/bootstrap]: 127.0.0.1:23002/bootstrap: Disconnected: connection "
            "reset by peer (after 4ms in state APIVERSION_QUERY)",
            ProtocolMismatch,
            "security_protocol",
            id="plaintext-to-a-tls-listener",
        ),
        pytest.param(
            "127.0.0.1:23003/bootstrap: Receive failed: Invalid response size 1213486160 "
            "(0..100000000): increase receive.message.max.bytes (after 0ms in state "
            "APIVERSION_QUERY)",
            ProtocolMismatch,
            "security_protocol",
            id="plaintext-to-a-web-server",
        ),
        pytest.param(
            "sasl_plaintext://127.0.0.1:23101/bootstrap: SASL PLAIN mechanism handshake failed: "
            "Broker: Request not valid in current SASL state: broker's supported mechanisms:  "
            "(after 0ms in state AUTH_HANDSHAKE)",
            ProtocolMismatch,
            "security_protocol",
            id="sasl-to-a-listener-without-sasl",
        ),
        pytest.param(
            "sasl_plaintext://127.0.0.1:23301/bootstrap: SASL SCRAM-SHA-512 mechanism handshake "
            "failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: PLAIN "
            "(after 0ms in state AUTH_HANDSHAKE)",
            AuthenticationFailed,
            "sasl_mechanism",
            id="mechanism-that-is-not-offered",
        ),
        pytest.param(WRONG_PASSWORD, AuthenticationFailed, "sasl_password", id="wrong-password"),
        pytest.param(
            "127.0.0.1:9092/2: Disconnected: connection closed by peer (after 61234ms in state UP)",
            Unreachable,
            "bootstrap_servers",
            id="a-broker-that-answered-before-goes-away",
        ),
    ],
)
def test_a_line_about_a_broken_connection_has_a_name_and_a_field(line, kind, field):
    found = explain(line, "east")
    assert found is not None
    assert type(found[1]) is kind
    assert found[1].field == field


def test_the_message_names_the_server_and_not_the_library():
    _, fault = explain(REFUSED, "east")
    assert str(fault) == "east: Nobody listens on 127.0.0.1:23999 (connection refused)."


def test_an_advertised_address_is_told_from_a_bootstrap_address():
    _, fault = explain("kafka-1:9092/1: Failed to resolve 'kafka-1:9092': no", "east")
    assert "advertised.listeners" in fault.message


@pytest.mark.parametrize("line", ["", "nothing of interest", "[thrd:main]: Thread started"])
def test_other_lines_mean_nothing(line):
    assert explain(line, "east") is None


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([DISCONNECTED, WRONG_PASSWORD, REFUSED], id="between"),
        pytest.param([WRONG_PASSWORD, DISCONNECTED], id="first"),
        pytest.param([REFUSED, WRONG_PASSWORD], id="last"),
    ],
)
def test_the_most_telling_note_wins_wherever_it_comes(lines):
    notes = TransportNotes("east")
    for line in lines:
        notes.hear(line)
    assert isinstance(notes.fault(), AuthenticationFailed)


def test_notes_are_final_only_when_no_broker_is_left():
    notes = TransportNotes("east")
    notes.hear(REFUSED)
    assert notes.final_fault() is None
    notes.hear_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert isinstance(notes.final_fault(), Unreachable)


def test_an_answer_wipes_the_notes():
    notes = TransportNotes("east")
    notes.hear(REFUSED)
    notes.forget()
    assert notes.fault() is None


@pytest.mark.parametrize(
    ("code", "kind", "retriable"),
    [
        pytest.param(KafkaError._TIMED_OUT, TimedOut, True, id="time"),
        pytest.param(KafkaError._PARTIAL, TimedOut, True, id="no-live-broker"),
        pytest.param(KafkaError.REQUEST_TIMED_OUT, TimedOut, True, id="broker-time"),
        pytest.param(KafkaError.TOPIC_AUTHORIZATION_FAILED, NotAuthorized, False, id="topic-acl"),
        pytest.param(KafkaError.GROUP_AUTHORIZATION_FAILED, NotAuthorized, False, id="group-acl"),
        pytest.param(
            KafkaError.UNKNOWN_TOPIC_OR_PART, UnknownTopicOrPartition, False, id="unknown-topic"
        ),
        pytest.param(KafkaError._UNKNOWN_PARTITION, UnknownTopicOrPartition, False, id="partition"),
        pytest.param(KafkaError.MSG_SIZE_TOO_LARGE, RecordTooLarge, False, id="size"),
        pytest.param(KafkaError.LEADER_NOT_AVAILABLE, Refused, True, id="no-leader-now"),
        pytest.param(KafkaError.INVALID_REPLICATION_FACTOR, Refused, False, id="no"),
    ],
)
def test_an_error_number_has_a_name_and_says_whether_to_try_again(code, kind, retriable):
    fault = fault_of(KafkaError(code), cluster="east", doing="Asking", known=None)
    assert type(fault) is kind
    assert fault.retriable is retriable


def test_a_timeout_tells_what_is_known_about_the_connection():
    notes = TransportNotes("east")
    notes.hear(WRONG_PASSWORD)
    error = KafkaError(KafkaError._TIMED_OUT)
    fault = fault_of(error, cluster="east", doing="Asking", known=notes.fault())
    assert isinstance(fault, AuthenticationFailed)


def test_a_sentence_carries_the_words_and_the_name_of_an_error():
    error = KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
    assert sentence_of(error) == "Leader not available (LEADER_NOT_AVAILABLE)"


@pytest.mark.parametrize(
    "raised",
    [
        pytest.param(KafkaError(KafkaError._FAIL), id="bare"),
        pytest.param(KafkaException(KafkaError(KafkaError._FAIL)), id="inside-an-exception"),
    ],
)
def test_the_error_is_found_in_whatever_was_raised(raised):
    assert error_in(raised).name() == "_FAIL"


def test_an_exception_without_an_error_inside_becomes_one():
    assert "odd" in error_in(KafkaException("odd")).str()
