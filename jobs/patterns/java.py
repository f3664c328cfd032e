r"""A regular expression of Java, read and written for RE2, over whole names. Pure.

People write patterns for MirrorMaker 2, so they mean `java.util.regex.Pattern`, without flags, and the whole
name. What is taken here is a part of that, and means the same as there:

- Characters, `.`, classes with ranges, `\d \w \s \h \v` (ASCII, as in Java) and their capitals, POSIX's
  classes (`\p{Alpha}`) and Unicode's categories (`\p{Lu}`, `\pL`); groups, named or not; alternatives;
  `* + ?` and counts up to 1,000, also with a `?` behind them, which changes nothing about whole names;
  `^ $ \A \z \Z \b \B`; `\Q...\E`; `(?i)` and `(?s)`, for a group or the rest of it;
  `\t \n \r \f \a \e \cX \0n \xhh \x{h} \uhhhh`.
- Where RE2 would read something else, it is translated: `.` stops at all of Java's line ends; `\s` has the
  vertical tab; `\v` is a class; `(?i)` is about ASCII letters alone.

What Java takes and RE2 cannot do, or does otherwise, is refused with a `NotEvaluated`: look-around, back
references, atomic groups and possessive repeats, classes inside classes (`[[:alpha:]]` is one in Java) and
intersections, `\G \R \X \N \k`, `\p` of scripts, blocks and Java's own, and the flags d, m, u, x and U.
What Java refuses is refused, too (`NotAPattern`): `(?P<name>...)` and `{,3}` are Python's, `\C` and
`\p{^L}` RE2's.

Two differences remain, and only in names that are no topic's: `$` and `\Z` are the very end, where Java takes
a line end behind them; and `\b` knows ASCII letters alone, as Java does since version 19.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from jobs.patterns.character_classes import (
    LAST,
    LINE_ENDS,
    Range,
    code,
    in_both_cases,
    one_of,
)
from jobs.patterns.cursor import Cursor
from jobs.patterns.escapes import Escapes

MOST_REPEATS = 1000
# All counts of a pattern together, and groups in groups.
_MOST_COUNTED = 12_000
_DEEPEST = 250
_ANCHORS = {"A": r"\A", "z": r"\z", "Z": r"\z", "b": r"\b", "B": r"\B"}
_OTHER_GROUPS = {
    "(?=": "look-ahead (?=...)",
    "(?!": "look-ahead (?!...)",
    "(?<=": "look-behind (?<=...)",
    "(?<!": "look-behind (?<!...)",
    "(?>": "an atomic group (?>...)",
}
_OTHER_ESCAPES = {
    "G": "the end of the match before, \\G,",
    "R": "any line end, \\R,",
    "X": "a whole grapheme, \\X,",
    "N": "a character by its name, \\N{...},",
    "k": "a back reference \\k<...>",
}
_LEAVE_OUT = (
    "Put what it leaves out into the exclude list: topics_exclude or groups_exclude (topics.exclude and "
    "groups.exclude of MirrorMaker 2)."
)
_FLAGS_OF_JAVA = frozenset("dmuxU")


class _Before(Enum):
    """What a repeat would repeat."""

    NOTHING = auto()
    PIECE = auto()
    ANCHOR = auto()
    REPEAT = auto()


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    dot_is_all: bool = False


def to_re2(pattern: str) -> str:
    """Return RE2's expression for a pattern of Java; raises `NotAPattern` and `NotEvaluated`."""
    return _Reader(pattern).read()


class _Reader:
    """Reads one pattern from its first character to its last."""

    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self._escapes = Escapes(self._cursor)
        self._written: list[str] = []
        self._before = _Before.NOTHING
        self._flags = _Flags()
        self._open: list[tuple[int, _Flags]] = []
        self._names: set[str] = set()
        self._counted = 0

    def read(self) -> str:
        while not self._cursor.ends():
            self._read_one()
        if self._open:
            self._cursor.refuse("the group is not closed", self._open[-1][0])
        return "".join(self._written)

    def _read_one(self) -> None:
        begin = self._cursor.at
        character = self._cursor.take("", begin)
        if character == "\\":
            self._escape(begin)
        elif character in "*+?{":
            self._repeat(begin, character)
        elif character in "()|":
            self._structure(begin, character)
        elif character == "[":
            ignore_case = self._flags.ignore_case
            inside = _ClassReader(self._cursor, self._escapes, begin, ignore_case=ignore_case)
            self._write(inside.read())
        elif character in "^$":
            self._write(r"\A" if character == "^" else r"\z", _Before.ANCHOR)
        elif character == ".":
            self._write(_EVERYTHING if self._flags.dot_is_all else _DOT)
        else:
            self._literal(ord(character), begin)

    def _structure(self, begin: int, character: str) -> None:
        if character == "(":
            self._group(begin)
        elif character == ")":
            self._close(begin)
        else:
            self._write("|", _Before.NOTHING)

    def _literal(self, point: int, begin: int) -> None:
        _check_whole(self._cursor, point, begin)
        ranges = in_both_cases([(point, point)]) if self._flags.ignore_case else ()
        self._write(one_of(ranges) if len(ranges) > 1 else code(point))

    def _write(self, text: str, before: _Before = _Before.PIECE) -> None:
        self._written.append(text)
        self._before = before

    # Repeats

    def _repeat(self, begin: int, sign: str) -> None:
        written = self._read_count(begin) if sign == "{" else sign
        if self._before is _Before.NOTHING and sign != "{":
            self._cursor.refuse(f"{sign} stands where there is nothing to repeat", begin)
        if self._before is _Before.REPEAT and sign != "{":
            self._cursor.refuse(f"{sign} repeats a repeat", begin)
        if self._before is not _Before.PIECE:
            self._cursor.cannot("a repeat of this", begin, "Put what is repeated into (...).")
        if self._cursor.peek("+"):
            what = f"a possessive repeat {sign if sign != '{' else written}+"
            self._cursor.cannot(what, begin, "Leave the + out: names are matched as a whole.")
        if self._cursor.peek("?"):
            self._cursor.at += 1  # lazy or greedy: a whole name matches or not
        self._write(written, _Before.REPEAT)

    def _read_count(self, begin: int) -> str:
        inside = self._cursor.take_until("}", "the count {", begin)
        least, comma, most = inside.partition(",")
        if not _is_number(least) or not (most == "" or _is_number(most)):
            self._cursor.refuse(
                f"{{{inside[:20]}}} is no count like {{2}}, {{2,}} or {{2,5}}", begin
            )
        if most and (len(most), most) < (len(least), least):
            self._cursor.refuse(f"the count {{{inside[:30]}}} ends before it begins", begin)
        highest = most or least
        if len(highest) > len(str(MOST_REPEATS)) or int(highest) > MOST_REPEATS:
            hint = f"The most is {MOST_REPEATS:,}; * has no limit."
            self._cursor.cannot(f"the count {{{inside[:30]}}}", begin, hint)
        self._counted += int(highest)
        if self._counted > _MOST_COUNTED:
            self._cursor.cannot(
                "a count more", begin, "All counts together are too large: use smaller ones."
            )
        return f"{{{least}{comma}{most}}}"

    # Groups

    def _group(self, begin: int) -> None:
        for opening, what in _OTHER_GROUPS.items():
            if self._cursor.text.startswith(opening, begin):
                self._cursor.cannot(what, begin, _LEAVE_OUT if "!" in opening else _WITHOUT_GROUP)
        if not self._cursor.peek("?"):
            self._begin_group(begin)
        elif self._cursor.peek("?<"):
            self._cursor.at += 2
            self._name(begin)
            self._begin_group(begin)
        else:
            self._cursor.at += 1
            self._group_of_flags(begin)

    def _begin_group(self, begin: int, flags: _Flags | None = None) -> None:
        if len(self._open) >= _DEEPEST:
            self._cursor.cannot(
                "a group nested too deeply", begin, f"The most is {_DEEPEST} in each other."
            )
        self._open.append((begin, self._flags))
        self._flags = flags or self._flags
        self._write("(?:", _Before.NOTHING)

    def _name(self, begin: int) -> None:
        name = self._cursor.take_until(">", "the name of the group", begin)
        if not (name.isascii() and name.isalnum() and name[0].isalpha()):
            self._cursor.refuse(f"{name[:30]!r} is no name of a group: letters and digits", begin)
        if name in self._names:
            self._cursor.refuse(f"two groups have the name {name[:30]}", begin)
        self._names.add(name)

    def _group_of_flags(self, begin: int) -> None:
        """Read `i)`, `i-s:` and the like: for the rest of the group around, or a group of their own."""
        flags, is_on = {"i": self._flags.ignore_case, "s": self._flags.dot_is_all}, True
        while True:
            flag = self._cursor.take("the group", begin)
            if flag in ":)":
                break
            if flag == "-" and is_on:
                is_on = False
            elif flag in flags:
                flags[flag] = is_on
            elif flag in _FLAGS_OF_JAVA:
                self._cursor.cannot(
                    f"the flag (?{flag})", begin, "Leave it out: only i and s are known."
                )
            else:
                self._cursor.refuse(f"(?{flag} begins no group", begin, _OF_OTHERS.get(flag, ""))
        found = _Flags(flags["i"], flags["s"])
        if flag == ":":
            self._begin_group(begin, found)
        else:
            self._flags, self._before = found, _Before.NOTHING

    def _close(self, begin: int) -> None:
        if not self._open:
            self._cursor.refuse(") closes no group", begin)
        _, self._flags = self._open.pop()
        self._write(")")

    # Escapes

    def _escape(self, begin: int) -> None:
        letter = self._cursor.take("the escape \\", begin)
        if letter in _ANCHORS:
            if letter == "b" and self._cursor.peek("{"):
                self._cursor.cannot("\\b{...}", begin, "Write \\b.")
            self._write(_ANCHORS[letter], _Before.ANCHOR)
        elif letter in "123456789":
            self._cursor.cannot(f"a back reference \\{letter}", begin, _WITHOUT_GROUP)
        elif letter in _OTHER_ESCAPES:
            self._cursor.cannot(_OTHER_ESCAPES[letter], begin, _WITHOUT_GROUP)
        elif letter == "Q":
            self._quote()
        else:
            self._read_escaped(letter, begin)

    def _read_escaped(self, letter: str, begin: int) -> None:
        ignore_case = self._flags.ignore_case
        found = self._escapes.read_class(letter, begin, ignore_case=ignore_case)
        if found is not None:
            self._write(one_of(*found))
        else:
            self._literal(self._escapes.read_character(letter, begin), begin)

    def _quote(self) -> None:
        cursor = self._cursor
        end = cursor.text.find("\\E", cursor.at)
        quoted = cursor.text[cursor.at : end if end >= 0 else len(cursor.text)]
        for place, character in enumerate(quoted, cursor.at):
            self._literal(ord(character), place)
        cursor.at += len(quoted) + (2 if end >= 0 else 0)


class _ClassReader:
    """Reads `[...]` behind its bracket."""

    def __init__(self, cursor: Cursor, escapes: Escapes, begin: int, *, ignore_case: bool) -> None:
        self._cursor, self._escapes = cursor, escapes
        self._begin, self._ignore_case = begin, ignore_case
        self._ranges: list[Range] = []
        self._classes: list[str] = []

    def read(self) -> str:
        is_negated = self._cursor.peek("^")
        self._cursor.at += 1 if is_negated else 0
        is_first = True
        while is_first or not self._cursor.peek("]"):
            self._read_one()
            is_first = False
        self._cursor.at += 1
        ranges = in_both_cases(self._ranges) if self._ignore_case else self._ranges
        return one_of(ranges, self._classes, is_negated=is_negated)

    def _read_one(self) -> None:
        cursor = self._cursor
        if cursor.peek("["):
            cursor.cannot("a class inside a class", self._begin, _ONE_CLASS)
        if cursor.peek("&&"):
            cursor.cannot("an intersection of classes (&&)", self._begin, _ONE_CLASS)
        first = last = self._character()
        if first is None:
            return
        if cursor.peek("-") and not cursor.peek("-]") and not cursor.peek("-["):
            cursor.at += 1
            last = self._character()
        if last is None or last < first:
            cursor.refuse("a range ends before it begins", self._begin)
        self._ranges.append((first, last))

    def _character(self) -> int | None:
        """Return the next character; None: it was a class like `\\d`, which is noted."""
        cursor = self._cursor
        character = cursor.take("the class [", self._begin)
        if character != "\\":
            point = ord(character)
        else:
            letter = cursor.take("the class [", self._begin)
            if letter == "Q":
                cursor.cannot("\\Q in a class", self._begin, "Write a backslash before each.")
            found = self._escapes.read_class(letter, self._begin, ignore_case=self._ignore_case)
            if found is not None:
                self._ranges += found[0]
                self._classes += found[1]
                return None
            point = self._escapes.read_character(letter, self._begin)
        _check_whole(cursor, point, self._begin)
        return point


def _check_whole(cursor: Cursor, point: int, begin: int) -> None:
    if 0xD800 <= point <= 0xDFFF:  # noqa: PLR2004  Unicode's surrogates
        cursor.cannot("half of a character (a surrogate)", begin, "Write the whole character.")


_EVERYTHING = one_of([(0, LAST)])
_DOT = one_of(LINE_ENDS, is_negated=True)
_WITHOUT_GROUP = "Write out the names, or what they begin with, as alternatives: (?:a|b).*"
_ONE_CLASS = "Write one class with all its characters, like [a-z0-9]."
_OF_OTHERS = {"P": "Write (?<name>...), or (...) without a name.", "#": "Leave the comment out."}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
