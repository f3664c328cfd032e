"""The mail server and the receiver of webhooks, as tests of deliveries have them."""

from tests.console.delivery.conftest import home, mail_servers, mailbox, receiver, silent

__all__ = ["home", "mail_servers", "mailbox", "receiver", "silent"]
