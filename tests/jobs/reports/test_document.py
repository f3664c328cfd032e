import json

from hypothesis import example, given
from hypothesis import strategies as st

from jobs.reports.document import (
    Column,
    Document,
    Figure,
    Figures,
    Gap,
    Section,
    Table,
    Text,
    Verdict,
)
from jobs.reports.rendering.formats import json_of
from jobs.reports.values import ValueType
from jobs.severity import Severity
from tests.jobs.reports.rendering.sample import BARS, LANES, LINES, document
from tests.jobs.reports.rendering.sample import sections as all_blocks

NAMES = st.text(max_size=12)
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAMES
FIGURES = st.builds(Figure, NAMES, VALUES, st.sampled_from(ValueType), NAMES, NAMES, VALUES)
COLUMNS = st.tuples(st.builds(Column, NAMES, NAMES, st.sampled_from(ValueType), NAMES, NAMES))
ROWS = st.lists(st.tuples(VALUES), max_size=3).map(tuple)
BLOCKS = (
    st.builds(Text, NAMES)
    | st.builds(Verdict, st.sampled_from(Severity), NAMES, NAMES, NAMES)
    | st.builds(Figures, st.lists(FIGURES, max_size=2).map(tuple), st.booleans())
    | st.builds(Table, NAMES, NAMES, COLUMNS, ROWS, total=st.none() | st.integers(0))
    | st.sampled_from([LINES, BARS, LANES])
)
GAPS = st.lists(st.builds(Gap, st.none(), st.none() | NAMES, NAMES), max_size=2).map(tuple)
SECTIONS = st.builds(
    Section,
    *(NAMES, NAMES, st.none() | NAMES, st.none() | NAMES),
    st.lists(BLOCKS, max_size=3).map(tuple),
    GAPS,
    st.booleans(),
)


@given(st.lists(SECTIONS, max_size=2).map(tuple))
@example(())
@example(all_blocks())
@example((Section("a", "\N{RIGHT-TO-LEFT OVERRIDE}\x00\U000e0001\n", None, None, ()),))
def test_a_document_and_its_json_are_the_same_thing(sections):
    one = document(sections=sections)
    assert Document.from_mapping(json.loads(json_of(one))) == one
