"""`metadata-history` describes the content of its files."""

import pyarrow as pa
import pytest

from jobs.quorum.log_tables.schemas import SCHEMAS
from jobs.spark.analyses.analysis import ColumnType
from jobs.spark.analyses.metadata.metadata_history import ANALYSIS

KINDS = {
    ColumnType.LIST: pa.types.is_list,
    ColumnType.BOOLEAN: pa.types.is_boolean,
    ColumnType.TEXT: lambda one: pa.types.is_string(one) or pa.types.is_dictionary(one),
    ColumnType.CODE: lambda one: pa.types.is_string(one) or pa.types.is_dictionary(one),
}


def test_it_answers_with_every_table_of_a_log():
    assert [table.name for table in ANALYSIS.tables] == list(SCHEMAS)


@pytest.mark.parametrize("table", ANALYSIS.tables, ids=lambda table: table.name)
def test_its_columns_are_those_of_the_files(table):
    schema = SCHEMAS[table.name]
    assert [column.name for column in table.columns] == schema.names
    for column in table.columns:
        is_of_kind = KINDS.get(column.type, pa.types.is_integer)
        assert is_of_kind(schema.field(column.name).type), column.name
