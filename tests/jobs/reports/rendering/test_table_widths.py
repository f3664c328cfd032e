import pytest

from jobs.reports.rendering.table_widths import BREAK, broken, widths_of

UPRIGHT, FLIPPED = 490, 740


@pytest.mark.parametrize(
    ("columns", "size", "is_flipped"),
    [
        pytest.param(3, 8.0, False, id="few columns"),
        pytest.param(8, 6.0, False, id="more: smaller letters"),
        pytest.param(10, 6.0, False, id="narrow columns before a page on its side"),
        pytest.param(12, 6.0, True, id="many: on its side"),
        pytest.param(60, 4.0, True, id="too many: as small as it gets"),
    ],
)
def test_letters_and_paper_follow_the_columns(columns, size, is_flipped):
    row = ("name-of-a-topic",) * columns
    found = widths_of(("Topic",) * columns, [row], (False,) * columns, UPRIGHT, FLIPPED)
    assert (found.size, found.is_flipped) == (size, is_flipped)
    assert sum(found.columns) == pytest.approx(FLIPPED if is_flipped else UPRIGHT, abs=0.5)


def test_a_number_has_its_whole_width():
    found = widths_of(
        ("Topic", "Records"), [("x" * 249, "1,234,567,890,123")], (False, True), UPRIGHT, FLIPPED
    )
    assert found.room(1) >= len("1,234,567,890,123")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("short", "short", id="fits"),
        pytest.param("one two three", "one two three", id="words"),
        pytest.param("orders.eu-west", "orders.|eu-|west", id="separators"),
        pytest.param("x" * 12, "xxxx|xxxx|xxxx", id="none"),
    ],
)
def test_a_long_name_breaks(text, shown):
    assert broken(text, 8) == shown.replace("|", BREAK)
