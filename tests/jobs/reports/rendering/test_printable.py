import re
import unicodedata

import pytest

from jobs.reports.rendering.printable import LONGEST_TEXT, LONGEST_WORD, cut, glyphs, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("evil\u0350group", "evil\\u0350group", id="mark that the font lacks"),
        pytest.param("e\u0301", "e\u0301", id="mark that it has"),
        pytest.param("a\ufffeb", "a\\ufffeb", id="no character"),
        pytest.param("中", "\\u4e2d", id="letter that it lacks"),
        pytest.param("\U0001f9ea", "\\ud83e\\uddea", id="beyond the first plane"),
        pytest.param("\ue000\uf400", "\\ue000\\uf400", id="private use"),
        pytest.param("a\u202eb", "a\\u202eb", id="turned direction"),
        pytest.param("a\u2066b", "a\\u2066b", id="isolated direction"),
        pytest.param("a\nb\tc\x00", "a\\u000ab\\u0009c\\u0000", id="controls"),
        pytest.param("a\ud800", "a\\ud800", id="half of a pair"),
        pytest.param(
            "a\ufe0fb\u034fc", "a\\ufe0fb\\u034fc", id="not seen although the font has it"
        ),
        pytest.param("группа ομάδα שלום", "группа ομάδα שלום", id="other alphabets"),
        pytest.param("\\u0350", "\\u0350", id="escaped before"),
    ],
)
def test_what_the_font_lacks_is_escaped(text, shown):
    assert printable(text) == shown


@pytest.mark.slow
def test_every_code_point_is_in_the_font_or_is_shown_in_ascii():
    known = glyphs()
    shown = {one: printable(one) for one in map(chr, range(0x110000))}
    assert all(text == one for one, text in shown.items() if one in known)
    escapes = [text for one, text in shown.items() if one not in known]
    assert re.fullmatch(r"(?:\\u[0-9a-f]{4}){1,2}(?: (?:\\u[0-9a-f]{4}){1,2})*", " ".join(escapes))


def test_no_character_of_a_print_is_unseen():
    kinds = {unicodedata.category(one) for one in glyphs()}
    assert not kinds & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert set(map(chr, range(0x20, 0x7F))) <= glyphs()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("x" * LONGEST_WORD, "x" * LONGEST_WORD, id="longest word"),
        pytest.param("x" * 100_000, f"{'x' * LONGEST_WORD}…(+99,500)", id="long word"),
        pytest.param(f"a {'x' * 1500} b", f"a {'x' * LONGEST_WORD}…(+1,000) b", id="among others"),
        pytest.param("ab " * 5000, f"{('ab ' * 5000)[:LONGEST_TEXT]}…(+13,000)", id="long text"),
    ],
)
def test_a_long_text_says_how_many_characters_were_cut(text, shown):
    assert cut(text) == shown
    assert cut(shown) == shown
