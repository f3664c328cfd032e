r"""A regular expression of Java (`java.util.regex.Pattern`, whole names), written for RE2. Pure.

What means the same in both is taken: characters, `.`, classes with ranges, `\d \w \s`, POSIX's classes
(`\p{Alpha}`) and Unicode's categories (`\p{Lu}`), groups, alternatives, `* + ?` and counts up to 1,000, also
lazy ones, `^ \A \z`, `$` and `\Z` at the end, `\Q...\E`, `(?i)`, `(?s)`, `\t \n \r \f \a \e`, and numbers
(`\xhh \x{h} \uhhhh`). `.` stops at all of Java's line ends, and `(?i)` is about ASCII letters alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_letters
from typing import NoReturn

MOST_REPEATS = 1000
# All counts of a pattern together, and groups in groups.
_MOST_COUNTED = 12_000
_DEEPEST = 250
_LAST = 0x10FFFF
_DOT = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_CLASSES = {"s": "[:space:]", "S": "[:^space:]"} | {one: f"\\{one}" for one in "dDwW"}
_CONTROLS = {"t": 0x09, "n": 0x0A, "r": 0x0D, "f": 0x0C, "a": 0x07, "e": 0x1B}
_POSIX = re.compile(
    "Lower|Upper|ASCII|Alpha|Digit|Alnum|Punct|Graph|Print|Blank|Cntrl|XDigit|Space"
)
# With (?i), versions of Java differ in whether these take the other case.
_CASED = frozenset({"Lower", "Upper", "Lu", "Ll", "Lt"})
_CATEGORY = re.compile("(?:Is)?(L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?)")
_PROPERTY = re.compile(r"\{([^}]+)\}|([^{])", re.DOTALL)
_NUMBER = re.compile(r"x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,9})\}|u([0-9a-fA-F]{4})")
_COUNT = re.compile(r"\{([0-9]{1,20})(,?)([0-9]{0,20})\}")
_GROUP = re.compile(
    r"\(\?<(?P<name>[a-zA-Z][a-zA-Z0-9]*)>|\(\?(?P<on>[a-zA-Z]*)-?(?P<off>[a-zA-Z]*)(?P<end>[:)])|\((?!\?)"
)

_WITHOUT = "Write out the names, or what they begin with, as alternatives: (?:a|b).*"
_EXCLUDE = (
    "Put what it leaves out into the exclude list: topics_exclude or groups_exclude (topics.exclude and "
    "groups.exclude of MirrorMaker 2)."
)
_ONE_CLASS = "Write one class with all its characters, like [a-z0-9]."
_NUMBERED = r"Write its number, like \x{7f}."
_AT_THE_END = "Write $ at the end, or leave it out."
# What Java takes and RE2 does not, or reads otherwise: each with what it is, and what to do.
_OF_JAVA = (
    (re.compile(r"\\[hHvV]"), "the class {}", _ONE_CLASS),
    (re.compile(r"\\N\{[^}]*\}"), "a character by its name, {},", _NUMBERED),
    (re.compile(r"\\0[0-7]"), "an octal number, {},", _NUMBERED),
    (re.compile(r"\\c[\s\S]"), "a control character, {},", _NUMBERED),
)
_OF_JAVA_OUTSIDE_OF_CLASSES = (
    *_OF_JAVA,
    (re.compile(r"\(\?="), "look-ahead (?=...)", _WITHOUT),
    (re.compile(r"\(\?!"), "look-ahead (?!...)", _EXCLUDE),
    (re.compile(r"\(\?<="), "look-behind (?<=...)", _WITHOUT),
    (re.compile(r"\(\?<!"), "look-behind (?<!...)", _EXCLUDE),
    (re.compile(r"\(\?>"), "an atomic group (?>...)", "Write (?:...)."),
    (re.compile(r"\\[1-9]|\\k<[^>]*>"), "a back reference {}", _WITHOUT),
    (re.compile(r"\\G"), "the end of the match before, {},", _WITHOUT),
    (re.compile(r"\\R"), "any line end, {},", _ONE_CLASS),
    (re.compile(r"\\X"), "a whole grapheme, {},", _WITHOUT),
    (
        re.compile(r"\\[bB]"),
        "the edge of a word, {},",
        "Write what is there, like (?:.*[.-])?name.",
    ),
)
_OF_CLASSES = (
    (re.compile(r"\["), "a class inside a class", _ONE_CLASS),
    (re.compile(r"&&"), "an intersection of classes (&&)", _ONE_CLASS),
    (re.compile(r"\\Q"), "{} in a class", "Write a backslash before each."),
    *_OF_JAVA,
)
_OF_OTHERS = {"(?P": "Write (?<name>...), or (...) without a name.", "(?#": "Leave it out."}


class NotAPattern(ValueError):
    """A text is no regular expression of Java; the message says what is wrong and where."""


class NotEvaluated(NotAPattern):
    """A regular expression of Java that cannot be evaluated here; the message says why, and what to do."""


def to_re2(pattern: str) -> str:
    """Return RE2's expression for a pattern of Java; raises `NotAPattern` and `NotEvaluated`."""
    return _Reader(pattern).read()


def code(point: int) -> str:
    """Return how RE2 reads exactly this character, inside a class and outside."""
    character = chr(point)
    is_plain = character.isascii() and character.isalnum()
    return character if is_plain else f"\\x{{{point:x}}}"


@dataclass(slots=True)
class _Group:
    """An open group: where it began, what was so before it, and whether an alternative of it has a $."""

    begin: int
    flags: frozenset[str]
    is_behind_end: bool
    has_end: bool = False


class _Reader:
    """Reads a pattern from its first character to its last; `_begin` is where the present part began."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._begin = text, 0, 0
        self._flags = frozenset[str]()
        # What the next repeat would repeat, where it cannot.
        self._before = "nothing"
        # Behind a $ Java still takes a line end, RE2 nothing.
        self._is_behind_end = False
        self._open = [_Group(0, self._flags, is_behind_end=False)]
        self._names = set[str]()
        self._counted = 0
        self._parts = {
            **dict.fromkeys("*+?{", self._repeat),
            **dict.fromkeys("^$", self._anchor),
            **dict.fromkeys("|)", self._end_alternative),
            "(": self._begin_group,
            "[": self._class,
            ".": self._dot,
            "\\": self._escape,
        }

    def read(self) -> str:
        written = []
        while self._at < len(self._text):
            self._begin = self._at
            self._check_taken(_OF_JAVA_OUTSIDE_OF_CLASSES)
            written.append(self._part())
        if len(self._open) > 1:
            self._begin = self._open[-1].begin
            self._refuse("the group is not closed")
        return "".join(written)

    def _part(self) -> str:
        character = self._take("")
        self._before = self._before if character in "*+?{" else ""
        return self._parts.get(character, self._character)(character)

    def _character(self, sign: str) -> str:
        self._check_not_behind_end()
        return self._literal(ord(sign))

    def _dot(self, _: str) -> str:
        self._check_not_behind_end()
        return "(?s:.)" if "s" in self._flags else _DOT

    def _escape(self, _: str) -> str:
        letter = self._take("the escape \\")
        if letter in "AzZ":
            return self._anchor(letter)
        if letter == "Q":
            return self._quoted()
        self._check_not_behind_end()
        found = self._escaped(letter)
        return f"[{found}]" if isinstance(found, str) else self._literal(found)

    def _anchor(self, sign: str) -> str:
        self._before = "an anchor"
        self._is_behind_end = self._is_behind_end or sign in "$Z"
        return r"\A" if sign in "^A" else r"\z"

    def _check_not_behind_end(self) -> None:
        if self._is_behind_end:
            self._cannot("a character behind $", _AT_THE_END)

    def _quoted(self) -> str:
        text, end, _ = self._text[self._at :].partition("\\E")
        self._at += len(text + end)
        return "".join(map(self._character, text))

    def _literal(self, point: int) -> str:
        both = self._range(point, point)
        return both if both == code(point) else f"[{both}]"

    def _repeat(self, sign: str) -> str:
        count = self._count() if sign == "{" else sign
        if self._before in {"nothing", "a repeat"} and sign != "{":
            self._refuse(f"{sign} repeats {self._before}")
        if self._before:
            self._cannot(
                f"{count}, which repeats {self._before},", "Write (...) around what it repeats."
            )
        if self._is_behind_end and sign != "?":
            self._cannot("a repeat of $", _AT_THE_END)
        if self._next("+"):
            self._cannot(
                f"a possessive repeat {count}+", "Leave the + out: names are matched as a whole."
            )
        self._next("?")  # lazy or greedy: a whole name matches or not
        self._before = "a repeat"
        return count

    def _count(self) -> str:
        found = _COUNT.match(self._text, self._begin)
        if found is None:
            self._refuse(
                f"{self._text[self._begin :][:20]} is no count like {{2}}, {{2,}} or {{2,5}}"
            )
        self._at = found.end()
        least, most = int(found[1]), int(found[3] or found[1])
        if most < least:
            self._refuse(f"the count {found[0]} ends before it begins")
        if most > MOST_REPEATS:
            hint = f"The most is {MOST_REPEATS:,}; * has no limit."
            self._cannot(f"the count {found[0]}", hint)
        self._counted += most
        if self._counted > _MOST_COUNTED:
            self._cannot("a count more", "All counts together are too large: use smaller ones.")
        return f"{{{least}{found[2]}{most if found[3] else ''}}}"

    def _begin_group(self, _: str) -> str:
        found = _GROUP.match(self._text, self._begin)
        if found is None:
            opening = self._text[self._begin :][:3]
            self._refuse(f"{opening} begins no group", _OF_OTHERS.get(opening, ""))
        self._at = found.end()
        name, on, off = found["name"], found["on"] or "", found["off"] or ""
        if name in self._names:
            self._refuse(f"two groups have the name {name[:30]}")
        self._names |= {name} if name else set()
        for flag in sorted({*on, *off} - {"i", "s"}):
            if flag not in "dmuxU":
                self._refuse(f"(?{flag} begins no group")
            self._cannot(f"the flag (?{flag})", "Leave it out: only i and s are known.")
        flags = (self._flags | {*on}) - {*off}
        self._before = "nothing"
        if found["end"] == ")":
            self._flags = flags
            return ""
        if len(self._open) > _DEEPEST:
            self._cannot("a group nested too deeply", f"The most is {_DEEPEST} in each other.")
        self._open.append(_Group(self._begin, self._flags, self._is_behind_end))
        self._flags = flags
        return "(?:"

    def _end_alternative(self, sign: str) -> str:
        group = self._open[-1]
        group.has_end |= self._is_behind_end
        if sign == "|":
            self._before, self._is_behind_end = "nothing", group.is_behind_end
            return "|"
        if len(self._open) == 1:
            self._refuse(") closes no group")
        self._flags, self._is_behind_end = group.flags, group.has_end
        self._open.pop()
        return ")"

    def _class(self, _: str) -> str:
        self._check_not_behind_end()
        written = ["[^" if self._next("^") else "["]
        while len(written) == 1 or not self._next("]"):
            self._check_taken(_OF_CLASSES)
            first = last = self._of_class()
            if isinstance(first, str):
                written.append(first)
                continue
            if self._text.startswith("-", self._at) and self._text[
                self._at + 1 : self._at + 2
            ] not in {*"[]"}:
                self._at += 1
                last = self._of_class()
            if isinstance(last, str) or last < first:
                self._refuse("a range ends before it begins")
            written.append(self._range(first, last))
        return "".join((*written, "]"))

    def _of_class(self) -> str | int:
        character = self._take("the class [")
        return self._escaped(self._take("the class [")) if character == "\\" else ord(character)

    def _range(self, first: int, last: int) -> str:
        """Return a range inside a class, with (?i) in both cases of the ASCII letters, as in Java."""
        for point in (first, last):
            if 0xD800 <= point <= 0xDFFF:  # noqa: PLR2004  Unicode's surrogates
                self._cannot("half of a character (a surrogate)", "Write the whole character.")
        letters = ascii_letters if "i" in self._flags else ""
        others = "".join(one.swapcase() for one in letters if first <= ord(one) <= last)
        return code(first) + (f"-{code(last)}" if last > first else "") + others

    def _escaped(self, letter: str) -> str | int:
        """Return the meaning of an escape: a class for RE2's [...], or the number of a character."""
        if letter in _CLASSES:
            return _CLASSES[letter]
        if letter in "pP":
            return self._property(letter)
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter in "xu":
            return self._number(letter)
        if letter.isascii() and letter.isalnum():
            self._refuse(f"\\{letter} means nothing")
        return ord(letter)

    def _property(self, letter: str) -> str:
        found = _PROPERTY.match(self._text, self._at)
        if found is None:
            self._refuse(f"\\{letter} is not complete")
        self._at = found.end()
        name, written = found[1] or found[2], f"\\{letter}{found[0][:30]}"
        category = _CATEGORY.fullmatch(name)
        if "i" in self._flags and (category[1] if category else name) in _CASED:
            self._cannot(f"{written} with (?i)", "Write the letters: [a-zA-Z].")
        if _POSIX.fullmatch(name):
            return f"[:{'' if letter == 'p' else '^'}{name.lower()}:]"
        if category is None:
            self._cannot(f"the class {written}", "Write its characters: [a-zA-Z0-9].")
        return f"\\{letter}{{{category[1]}}}"

    def _number(self, letter: str) -> int:
        found = _NUMBER.match(self._text, self._at - 1)
        point = int(found[1] or found[2] or found[3], 16) if found else _LAST + 1
        if found is None or point > _LAST:
            self._refuse(f"\\{letter} begins no character's number")
        self._at = found.end()
        return point

    def _take(self, what: str) -> str:
        """Return the next character of `what`, which needs one."""
        if self._at == len(self._text):
            self._refuse(f"{what} is not complete")
        self._at += 1
        return self._text[self._at - 1]

    def _next(self, sign: str) -> bool:
        """Read this character if it comes next."""
        is_next = self._text.startswith(sign, self._at)
        self._at += is_next
        return is_next

    def _check_taken(self, table: tuple[tuple[re.Pattern[str], str, str], ...]) -> None:
        for written, what, hint in table:
            found = written.match(self._text, self._at)
            if found is not None:
                self._cannot(what.format(found[0][:30]), hint)

    def _refuse(self, what: str, hint: str = "") -> NoReturn:
        """Say that Java refuses this, too."""
        raise NotAPattern(f"{what}, at character {self._begin + 1}.{hint and ' ' + hint}")

    def _cannot(self, what: str, hint: str) -> NoReturn:
        """Say that Java takes this, and that it cannot be evaluated here."""
        raise NotEvaluated(f"{what} at character {self._begin + 1} is not supported. {hint}")
