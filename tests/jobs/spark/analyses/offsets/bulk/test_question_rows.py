"""Rows read in arrays are the questions, and the refusals, of the list that is read one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.errors import InvalidFields
from jobs.replication.translation.questions import parse_questions
from jobs.spark.analyses.offsets.bulk.question_files import parts_of

GOOD = st.sampled_from(["orders,0,42", "orders , 7,\t9", '"a b",1,2', "x,1,2,3", "g,orders,5,6"])
BAD = st.sampled_from(
    [
        "orders,0,-1",
        "orders,0,-2",
        "orders,0,-7",
        "orders,0",
        ",0,1",
        "   ,0,1",
        "a,b,c,d,e",
        "orders,0,9223372036854775808",
        "orders,2147483648,1",
        "orders,0,9223372036854775807",
        "orders,2147483647,1",
        "orders,0,1.5",
        "orders,0,",
        '"orders",0,x',
        "ördérs,٣,1",
        "o" * 250 + ",0,1",
        "o" * 249 + ",0,1",
        "",
        "  ",
    ]
)
HEADER = st.sampled_from(
    [
        "",
        "topic,partition,offset\n",
        "Offset, TOPIC ,group,partition\n",
        "topic,partition,offset,more\n",
    ]
)


def questions_in(found):
    return [
        (row["line"], row["group"] or "", row["topic"], row["partition"], row["offset"])
        for read in found
        for row in read.questions.to_pylist()
    ]


def refused_in(found):
    return [(row["line"], row["reason"]) for read in found for row in read.refused.to_pylist()]


@given(HEADER, st.lists(GOOD | BAD, min_size=1, max_size=12), st.sampled_from([",", ";", "\t"]))
def test_a_list_is_read_as_by_the_reader_of_short_ones(tmp_path_factory, header, rows, separator):
    text = (header + "\n".join(rows)).replace(",", separator)
    path = tmp_path_factory.getbasetemp() / "rows.csv"
    path.write_bytes(text.encode())
    alone = parse_questions(text)
    if not alone.questions and not any(one.line for one in alone.problems):
        with pytest.raises(InvalidFields, match="nothing in it"):
            parts_of(path)
        return
    found = [read for part in parts_of(path) for read in part.read()]
    assert questions_in(found) == [
        (one.line, one.group, *one.where, one.offset) for one in alone.questions
    ]
    told = [(one.line, one.text) for one in alone.problems if one.line]
    assert refused_in(found) == told
