"""E-mail: messages with their headers, sent over SMTP with TLS."""

from __future__ import annotations

import hashlib
import smtplib
import socket
import ssl
import threading
from contextlib import suppress
from datetime import datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from typing import Any

from django.conf import settings
from django.core import mail
from django.core.mail import get_connection
from django.core.mail.backends.smtp import EmailBackend
from django.utils.functional import cached_property

from console.delivery.models import Delivery
from console.delivery.results import Refused, TryAgain, quoted
from jobs.cluster.untrusted_text import register_secret
from jobs.visible import visible_line

# An attempt as a whole takes at most so many times as long as one answer may.
_TIMES = 3
_TOO_LARGE = 552
LONGEST_SUBJECT = 300


class _Bounded(smtplib.SMTP):
    """A connection that ends after a time as a whole, and keeps what was said of a message."""

    accepted = b""
    is_over = False
    _watch: threading.Timer | None = None

    def connect(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        self._watch = threading.Timer(_TIMES * settings.EMAIL_TIMEOUT, self._end)
        self._watch.daemon = True
        self._watch.start()
        try:
            return super().connect(*args, **kwargs)
        except OSError:
            self._watch.cancel()
            raise

    def getreply(self) -> tuple[int, bytes]:
        reply = super().getreply()
        if self.is_over:
            # A line that was cut by the end is no answer.
            self.close()
            raise TimeoutError
        return reply

    def data(self, msg: Any) -> tuple[int, bytes]:
        code, text = super().data(msg)
        self.accepted = b"%d %s" % (code, text)
        return code, text

    def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().close()

    def _end(self) -> None:
        held, self.is_over = self.sock, True
        if held is not None:
            with suppress(OSError):
                # Not the method of TLS, which forgets its state first, under the hands of the reader.
                socket.socket.shutdown(held, socket.SHUT_RDWR)


class _BoundedTls(_Bounded, smtplib.SMTP_SSL):
    """The same with TLS from the first byte."""


class MailBackend(EmailBackend):
    """Django's SMTP backend with the certificates of MAIL_CA, and bounded in time."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _BoundedTls if self.use_ssl else _Bounded

    @cached_property
    def ssl_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=settings.MAIL_CA or None)


class _Whole(EmailMessage):
    """A message as Django's mail backends send it."""

    def as_bytes(self, *args: Any, linesep: str | None = None, **kwargs: Any) -> bytes:
        """Return the whole message; `linesep`, which Django gives, is that of its policy already."""
        return super().as_bytes(*args, **kwargs)


class Mail(mail.EmailMessage):
    """A message for Django's mail backend that was built by the standard library."""

    def __init__(self, built: EmailMessage) -> None:
        sender = parseaddr(settings.DEFAULT_FROM_EMAIL)[1]
        super().__init__(str(built["Subject"]), "", sender, [str(built["To"])])
        self.built = built

    def message(self) -> Any:
        return self.built


def message_id_of(delivery: Delivery) -> str:
    """Return the Message-ID of a delivery: the same one at each attempt."""
    if delivery.message_id:
        return delivery.message_id
    mark = hashlib.sha256(f"{delivery.run_id}{delivery.key}".encode()).hexdigest()[:32]
    return f"<crosslog-{delivery.pk}-{mark}@{_domain()}>"


def thread_id_of(group: str) -> str:
    """Return the Message-ID to which the messages of a group refer: mail programs show them together."""
    mark = hashlib.sha256(group.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"<crosslog-group-{mark}@{_domain()}>"


def begin(address: str, subject: str, now: datetime) -> EmailMessage:
    """Return a message with its headers and without a body."""
    name, sender = parseaddr(settings.DEFAULT_FROM_EMAIL)
    built = _Whole(policy=policy.SMTP)
    # The library decodes an encoded word (RFC 2047) of a name: line ends in it would be headers.
    built["Subject"] = visible_line(subject).replace("=?", r"\u003d?")[:LONGEST_SUBJECT]
    built["From"] = Address(display_name=name, addr_spec=sender)
    built["To"] = Address(addr_spec=address)
    built["Date"] = format_datetime(now)
    built["Auto-Submitted"] = "auto-generated"
    built["X-Auto-Response-Suppress"] = "All"
    return built


def test_message(address: str, now: datetime) -> Mail:
    """Return a small message that only shows that e-mail works."""
    built = begin(address, "crosslog test message", now)
    built.set_content("crosslog can send reports to this address.\n")
    return Mail(built)


def server() -> str:
    """Return host and port of the mail server."""
    return f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"


def send_test(address: str, now: datetime) -> str:
    """Send a test message and return what the server said; raises `Refused`, `TryAgain`."""
    return send(test_message(address, now), address)


def send(message: Mail, address: str) -> str:
    """Send a message to one address and return what the server said; raises `Refused`, `TryAgain`."""
    register_secret(settings.EMAIL_HOST_PASSWORD)
    backend = get_connection()
    try:
        backend.open()
        backend.send_messages([message])
        said = getattr(getattr(backend, "connection", None), "accepted", b"")
    except (OSError, UnicodeError) as error:
        raise _translated(error, address) from None
    finally:
        # What the server says to the good-bye changes nothing any more.
        with suppress(OSError):
            backend.close()
    return f"{server()} accepted it: {quoted(said)}." if said else f"{server()} accepted it."


def _domain() -> str:
    return parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]


def _translated(error: OSError | UnicodeError, address: str) -> Refused | TryAgain:  # noqa: PLR0911  a table of errors
    """Return what an error of the connection or an answer of the server means."""
    match error:
        case smtplib.SMTPRecipientsRefused():
            code, text = next(iter(error.recipients.values()))
            return _answered(code, f"refused {address}", text)
        case smtplib.SMTPSenderRefused() if error.smtp_code != _TOO_LARGE:
            return _unusable("refused the sender (MAIL_FROM)", error)
        case smtplib.SMTPAuthenticationError():
            return _unusable("refused the sign-in of MAIL_USER", error)
        case smtplib.SMTPConnectError() | smtplib.SMTPHeloError():
            return _unusable("takes no messages", error)
        case smtplib.SMTPResponseException():
            return _answered(error.smtp_code, "refused the message", error.smtp_error)
        case smtplib.SMTPNotSupportedError():
            missing = quoted(str(error))
            sentence = f"{server()} does not offer what is set: {missing} (MAIL_TLS, MAIL_USER)."
            return TryAgain(sentence, is_away=True)
        case UnicodeError():
            return Refused("The message cannot be written in ASCII: check the address.")
    return TryAgain(f"{server()} did not answer: {_why(error)}.", is_away=True)


def _unusable(what: str, error: smtplib.SMTPResponseException) -> TryAgain:
    """Return an answer that any message would get: somebody has to change settings or the server."""
    said = f"{error.smtp_code} {quoted(error.smtp_error)}"
    return TryAgain(f"{server()} {what}: {said}.", is_away=True)


def _answered(code: int, what: str, text: bytes | str) -> Refused | TryAgain:
    sentence = f"{server()} {what}: {code} {quoted(text)}."
    if code >= 500:  # noqa: PLR2004  SMTP: permanent
        return Refused(sentence)
    # 421: the server is about to close the connection (RFC 5321).
    return TryAgain(sentence, is_away=code == 421)  # noqa: PLR2004


def _why(error: OSError | UnicodeError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({error.verify_message}); MAIL_CA names the certificates "
            "of a private server"
        )
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or 'no TLS'}); MAIL_TLS says which kind is used"
    if isinstance(error, TimeoutError):
        return f"no whole answer within {settings.EMAIL_TIMEOUT} s"
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return "the connection was closed"
    return quoted(str(getattr(error, "strerror", None) or error))
