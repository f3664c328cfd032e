"""The five services as tests see them: addresses, secrets, what they answer, what they show."""

import ipaddress
import ssl
from urllib.parse import urlsplit

from console.frame.security.outbound import Outbound

SLACK = "https://hooks.slack.com/services/T0QUOKKA/B0WOMBAT/quollAndBilby7"
TEAMS = (
    "https://prod-00.westus.logic.azure.com:443/workflows/643e69f83c89quokka/triggers/manual/paths/"
    "invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=Quoll_and-Bilby7xyz"
)
KEY, TOKEN = "quokka0wombat1quoll2bilby3numbat4", "7700110022:AAquokka_wombat-quoll_bilby-numbat1"
HOSTS = {
    "slack": "hooks.slack.com",
    "teams": "prod-00.westus.logic.azure.com",
    "pagerduty": "events.pagerduty.com",
    "opsgenie": "api.opsgenie.com",
    "telegram": "api.telegram.org",
}
CHANNELS = {
    "slack": ({"url": SLACK}, ""),
    "teams": ({"url": TEAMS}, ""),
    "pagerduty": ({"key": KEY}, ""),
    "opsgenie": ({"key": KEY}, "us"),
    "telegram": ({"token": TOKEN}, "-1001234567890"),
}
TAKEN = {
    "slack": (200, b"ok"),
    "teams": (202, b""),
    "pagerduty": (202, b'{"status": "success"}'),
    "opsgenie": (202, b'{"result": "Request will be processed", "requestId": "43a29c5c"}'),
    "telegram": (200, b'{"ok": true}'),
}

# Trusts nothing; its making reads no certificates of the system, which takes long.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Leading(Outbound):
    """A guard that checks the real address, then calls a receiver on this machine in its place."""

    def __init__(self, port, resolves_to="1.1.1.1", **more):
        told = {
            "hosts": list(HOSTS.values()),
            "resolve": lambda *_: [resolves_to],
            "tls": NO_TLS,
        } | more
        super().__init__(**told)
        object.__setattr__(self, "port", port)
        object.__setattr__(self, "called", [])

    def call(self, method, url, *, headers=None, body=None):
        self.check(url)
        self.called.append((method, url))
        networks = [ipaddress.ip_network("127.0.0.0/8")]
        here = Outbound(["127.0.0.1"], ["http"], networks, self.timeout_s, tls=NO_TLS)
        parts = urlsplit(url)
        target = f"http://127.0.0.1:{self.port}{parts.path}?{parts.query}"
        return here.call(method, target, headers=headers, body=body)


def text_of(kind, body):
    """All text that a service shows of a body, in the form that it reads."""
    match kind:
        case "slack":
            return body["attachments"][0]["blocks"][0]["text"]["text"]
        case "teams":
            blocks = body["attachments"][0]["content"]["body"]
            return "\n".join(block["inlines"][0]["text"] for block in blocks)
        case "pagerduty":
            return body["payload"]["custom_details"]["text"]
        case "opsgenie":
            return body["description"]
    return body["text"]
