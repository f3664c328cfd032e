"""How an attempt to deliver something ends when it was not delivered; the sentences are for people."""

from __future__ import annotations

from jobs.cluster.untrusted_text import shortened


class Refused(Exception):
    """The receiver said no for good, or the address may not be used: it is not tried again by itself."""

    @property
    def sentence(self) -> str:
        return str(self)


class TryAgain(Exception):
    """It may be delivered later. `is_away`: the server did not answer, so others for it need not be tried."""

    def __init__(self, sentence: str, *, is_away: bool = False) -> None:
        super().__init__(sentence)
        self.is_away = is_away

    @property
    def sentence(self) -> str:
        return str(self)


def quoted(text: str | bytes) -> str:
    """Return what a server said as part of a sentence: one line, short, without our secrets."""
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return shortened(said).rstrip(".")
