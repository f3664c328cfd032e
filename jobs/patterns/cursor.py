"""Where the reading of a pattern stands, and how it is refused: with what, where and what to do. Pure."""

from __future__ import annotations

from typing import NoReturn


class NotAPattern(ValueError):
    """A text is no regular expression of Java; the message says what is wrong and where."""


class NotEvaluated(NotAPattern):
    """A regular expression of Java that cannot be evaluated here; the message says why, and what to do."""


class Cursor:
    """A text that is read from its first character to its last; `begin` is always where a part began."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def ends(self) -> bool:
        """Return whether everything is read."""
        return self.at >= len(self.text)

    def peek(self, text: str) -> bool:
        """Return whether this comes next."""
        return self.text.startswith(text, self.at)

    def take(self, what: str, begin: int) -> str:
        """Return the next character of `what`, which needs one."""
        if self.ends():
            self.refuse(f"{what} is not complete", begin)
        self.at += 1
        return self.text[self.at - 1]

    def take_until(self, end: str, what: str, begin: int) -> str:
        """Return what stands before the next `end`, which closes `what`, and go on behind it."""
        found = self.text.find(end, self.at)
        if found < 0:
            self.refuse(f"{what} is not closed", begin)
        text, self.at = self.text[self.at : found], found + len(end)
        return text

    def refuse(self, what: str, begin: int, hint: str = "") -> NoReturn:
        """Say that Java refuses this, too."""
        raise NotAPattern(f"{what}, at character {begin + 1}.{hint and ' ' + hint}")

    def cannot(self, what: str, begin: int, hint: str) -> NoReturn:
        """Say that Java takes this, and that it cannot be evaluated here."""
        raise NotEvaluated(f"{what} at character {begin + 1} is not supported. {hint}")
