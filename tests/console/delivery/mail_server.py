"""A mail server on this machine that accepts, refuses, defers or hangs, as a test wants."""

import email
from contextlib import suppress
from dataclasses import dataclass, field
from email import policy
from email.message import EmailMessage

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


@dataclass
class Mailbox:
    """Keeps what came; `rcpt` and `data` are answers instead of the usual ones, by a word of the address."""

    rcpt: dict[str, str] = field(default_factory=dict)
    data: str = "250 OK: queued as 4711"
    messages: list[EmailMessage] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):  # noqa: N802  the name that aiosmtpd calls
        envelope.rcpt_tos.append(address)
        return self.rcpt.get(address.partition("@")[0], "250 OK")

    async def handle_DATA(self, server, session, envelope):  # noqa: N802  the name that aiosmtpd calls
        if self.data.startswith("250"):
            self.raw.append(envelope.content)
            self.messages.append(email.message_from_bytes(envelope.content, policy=policy.default))
            self.senders.append(envelope.mail_from)
        return self.data


class _Controller(Controller):
    def __init__(self, mailbox, *, tls=None, is_tls_first=False, user=None):
        self.options = {"hostname": "mail.example.org", "enable_SMTPUTF8": False}
        if tls is not None and not is_tls_first:
            self.options |= {"tls_context": tls, "require_starttls": True}
        if user is not None:
            self.options |= {"authenticator": _authenticator(user)}
            self.options |= {"auth_require_tls": "tls_context" in self.options}
        super().__init__(mailbox, "127.0.0.1", 0, ssl_context=tls if is_tls_first else None)

    def factory(self):
        return SMTP(self.handler, **self.options)

    def _trigger_server(self):
        # The system chose the port; the parent opens a first connection to it.
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


def _authenticator(user):
    def check(server, session, envelope, mechanism, data):
        is_right = (
            isinstance(data, LoginPassword)
            and (data.login.decode(), data.password.decode()) == user
        )
        return AuthResult(success=is_right, handled=False)

    return check


def start_mail_server(mailbox: Mailbox | None = None, **options) -> tuple[Mailbox, Controller]:
    """Start a mail server on a free port; the caller stops it."""
    mailbox = mailbox or Mailbox()
    controller = _Controller(mailbox, **options)
    controller.start()
    return mailbox, controller


class MailServers:
    """Starts mail servers for the settings of a test, and ends them."""

    def __init__(self, settings):
        self._settings = settings
        self._started = []
        settings.EMAIL_BACKEND = "console.delivery.mail.MailBackend"
        settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = (
            "127.0.0.1",
            "Crosslog <crosslog@example.org>",
        )
        settings.MAIL_TLS, settings.EMAIL_USE_TLS, settings.EMAIL_USE_SSL = "none", False, False

    def start(self, mailbox=None, **options) -> Mailbox:
        mailbox, controller = start_mail_server(mailbox, **options)
        self._started.append(controller)
        self._settings.EMAIL_PORT = controller.port
        return mailbox

    def end(self):
        for controller in self._started:
            with suppress(AssertionError):
                controller.stop(no_assert=True)
        self._started.clear()
