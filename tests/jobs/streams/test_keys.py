"""What people type as a key, and the bytes that a producer wrote for it."""

import pytest

from jobs.streams.keys import BadKey, KeyFormat, key_bytes


@pytest.mark.parametrize(
    ("format_", "text", "written"),
    [
        ("utf-8", "ключ", "d0bad0bbd18ed187"),
        ("utf-8", "", ""),
        ("hex", "0x00 0A ff", "000aff"),
        ("hex", "", ""),
        ("int32", " 42 ", "0000002a"),
        ("int32", "-1", "ffffffff"),
        ("int64", "-9223372036854775808", "8000000000000000"),
        ("uuid", "0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0", b"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0".hex()),
        ("confluent", "42:0661", "000000002a0661"),
        ("confluent-avro-string", "42:abc", "000000002a06616263"),
        ("confluent-avro-string", f"1:{'x' * 64}", f"00000000018001{'78' * 64}"),
        ("confluent-json", '7:{"id":1}', b"\0\0\0\0\x07".hex() + b'{"id":1}'.hex()),
    ],
)  # fmt: skip
def test_a_key_becomes_the_bytes_of_its_format(format_, text, written):
    assert key_bytes(text, KeyFormat(format_)).hex() == written


@pytest.mark.parametrize(
    ("format_", "text", "told"),
    [
        ("hex", "0", "hexadecimal"),
        ("hex", "zz", "hexadecimal"),
        ("int32", "2147483648", "from -2147483648 to 2147483647"),
        ("int32", "1.5", "whole number"),
        ("int64", "", "whole number"),
        ("uuid", "abc", "UUID"),
        ("confluent", "0661", "schema id"),
        ("confluent", "x:06", "schema id"),
        ("confluent", "-1:06", "schema id"),
        ("confluent-json", "4294967296:{}", "schema id"),
    ],
)
def test_a_text_that_is_no_key_of_its_format_is_refused(format_, text, told):
    with pytest.raises(BadKey, match=told):
        key_bytes(text, KeyFormat(format_))
