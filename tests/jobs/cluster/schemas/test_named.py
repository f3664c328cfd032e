from pathlib import Path

import pytest

from jobs.cluster.schemas.named import SchemaRegistry, parsed_registries, registries_in

TEXT = "main=https://reader:p%2Cw%40x@registry.example:8081/path/, old = http://127.0.0.1:8081,"
PARSED = {
    "main": SchemaRegistry("main", "https://registry.example:8081/path", "reader", "p,w@x"),
    "old": SchemaRegistry("old", "http://127.0.0.1:8081"),
}


def test_registries_are_read_by_name():
    assert parsed_registries(TEXT) == PARSED


def test_no_registry_is_named_by_nothing():
    assert registries_in({}) == {}


def test_the_variable_or_a_file_names_them(tmp_path: Path):
    (tmp_path / "registries").write_text(TEXT + "\n")
    assert registries_in({"CROSSLOG_SCHEMA_REGISTRIES": TEXT}) == PARSED
    assert (
        registries_in({"CROSSLOG_SCHEMA_REGISTRIES_FILE": str(tmp_path / "registries")}) == PARSED
    )


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(ValueError, match=r"gone cannot be read: No such file"):
        registries_in({"CROSSLOG_SCHEMA_REGISTRIES_FILE": str(tmp_path / "gone")})


def test_a_registry_survives_its_mapping_and_shows_no_password():
    main = PARSED["main"]
    assert SchemaRegistry.from_mapping(main.to_mapping()) == main
    assert "p,w" not in repr(main)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("https://u:hidden@h", "entry 1 does not begin with a name", id="no name"),
        pytest.param("https://u:hidden@h?a=1", "entry 1 does not begin", id="address with ="),
        pytest.param("a=http://h,:b", "entry 2 does not begin", id="second entry"),
        pytest.param("a=http://h,a=http://u:hidden@g", "a is there twice", id="twice"),
        pytest.param("a=https://u:hidden,b@h", "the address of a is not", id="comma in a password"),
        pytest.param("a=https://u:hidden@h:99999", "the address of a is not", id="no port"),
        pytest.param("a=https://u:hidden@[h", "the address of a is not", id="half an IPv6 address"),
        pytest.param("a=ftp://u:hidden@h", "the address of a is not", id="another protocol"),
        pytest.param("a=https://u:hidden@", "the address of a is not", id="no host"),
        pytest.param("a=https://u:hidden@h/?x=1", "the address of a is not", id="query"),
        pytest.param("a=", "the address of a is not", id="empty"),
    ],
)
def test_a_wrong_entry_is_named_without_its_password(text: str, message: str):
    with pytest.raises(ValueError, match=message) as caught:
        parsed_registries(text)
    assert str(caught.value).startswith("CROSSLOG_SCHEMA_REGISTRIES: ")
    assert "hidden" not in str(caught.value)
