"""The content of a secret is arbitrary text: it is refused at its field, whatever it is."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.cluster.check import check_connection
from jobs.cluster.connection import Connection, SecurityProtocol
from jobs.cluster.errors import ClusterFault
from jobs.cluster.secrets import SecretRef

AWAY = {"alias": "east", "bootstrap_servers": "127.0.0.1:1"}
HALF_PEM = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n"
FIELDS = {
    "ssl_ca": {"ssl_ca": "file:secret"},
    "ssl_certificate": {"ssl_certificate": "file:secret", "ssl_key": "file:secret"},
}


def unlike_words(text: str) -> bytes:
    """Begin each line with a letter that no message has: secrets are cut out of all later ones."""
    marked = "".join(f"\u0416{line}" for line in text.splitlines(keepends=True))
    return marked.encode("utf-8", "surrogatepass")


def binary(content: bytes) -> bytes:
    try:
        return unlike_words(content.decode())
    except UnicodeDecodeError:
        return content


CONTENTS = st.one_of(
    st.binary(max_size=200).map(binary),
    st.text(max_size=200).map(unlike_words),
    st.text(max_size=60).map(lambda text: HALF_PEM.encode().replace(b"{}", unlike_words(text))),
)


@pytest.fixture(scope="module")
def secret_file(tmp_path_factory):
    """A file that the reference `file:secret` names."""
    folder = tmp_path_factory.mktemp("secrets")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROSSLOG_SECRETS_DIR", str(folder))
        yield folder / "secret"


@pytest.mark.parametrize("field", FIELDS)
@given(content=CONTENTS)
@example(content=b"no certificate at all")
def test_a_certificate_that_is_none_is_refused_at_its_field(secret_file, field, content):
    secret_file.write_bytes(content)
    settings = AWAY | FIELDS[field] | {"security_protocol": SecurityProtocol.SSL.value}
    with pytest.raises(ClusterFault) as refusal:
        check_connection(Connection.from_mapping(settings))
    assert refusal.value.field == field


def test_a_file_that_is_no_text_is_told_as_such(secret_file):
    secret_file.write_bytes(b"\xff\xfe")
    with pytest.raises(LookupError, match="secret file secret is not UTF-8 text"):
        SecretRef("file", "secret").resolve()


def test_a_link_to_itself_is_told_as_a_file_that_cannot_be_read(secret_file):
    secret_file.unlink(missing_ok=True)
    secret_file.symlink_to(secret_file)
    try:
        with pytest.raises(LookupError, match="cannot be read"):
            SecretRef("file", "secret").resolve()
    finally:
        secret_file.unlink()


def test_a_variable_that_is_no_text_is_told_as_such(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_ODD", "caf\udce9")
    with pytest.raises(LookupError, match="CROSSLOG_SECRET_ODD is not UTF-8 text"):
        SecretRef("env", "CROSSLOG_SECRET_ODD").resolve()
