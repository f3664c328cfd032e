"""Settings from the environment."""

import stat
import threading

import pytest
from django.core.exceptions import ImproperlyConfigured

from console.env import (
    env_absolute,
    env_bool,
    env_certificates,
    env_folder,
    env_int,
    env_list,
    env_mailbox,
    env_registries,
    env_secret_key,
    env_signing_key,
    env_str,
    env_url,
)

NAME = "CROSSLOG_TEST_SETTING"


def test_an_empty_variable_counts_as_unset(monkeypatch):
    monkeypatch.setenv(NAME, " ")
    assert env_str(NAME, "default") == "default"


def test_a_value_may_stand_in_a_file(monkeypatch, tmp_path):
    (tmp_path / "value").write_text("from a file\n")
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "value"))
    assert env_str(NAME, "") == "from a file"


@pytest.mark.parametrize(
    ("read", "value"),
    [
        pytest.param(lambda: env_bool(NAME, default=False), "maybe", id="bool"),
        pytest.param(lambda: env_int(NAME, 1), "ten", id="int"),
        pytest.param(lambda: env_int(NAME, 5, least=5), "4", id="too small"),
        pytest.param(lambda: env_int(NAME, 1), "-3", id="negative"),
        pytest.param(lambda: env_url(NAME), "crosslog.example.org", id="no scheme"),
        pytest.param(lambda: env_url(NAME), "https:///x", id="no host"),
        pytest.param(lambda: env_mailbox(NAME), "crosslog", id="no e-mail address"),
        pytest.param(lambda: env_certificates(NAME), "/no/such/file.pem", id="no file"),
        pytest.param(lambda: env_certificates(NAME), __file__, id="no certificate"),
        pytest.param(lambda: env_absolute(NAME), "reports", id="a relative path"),
    ],
)
def test_a_malformed_value_stops_the_start_with_the_variables_name(monkeypatch, read, value):
    monkeypatch.setenv(NAME, value)
    with pytest.raises(ImproperlyConfigured, match=f"{NAME}={value}"):
        read()


def test_a_file_that_cannot_be_read_stops_the_start(monkeypatch):
    monkeypatch.setenv(f"{NAME}_FILE", "/no/such/file")
    with pytest.raises(ImproperlyConfigured, match="cannot be read"):
        env_str(NAME, "")


def test_a_short_key_is_named_and_not_shown(monkeypatch):
    monkeypatch.setenv(NAME, "short-key")
    with pytest.raises(ImproperlyConfigured, match=f"{NAME} has fewer than 16") as wrong:
        env_signing_key(NAME, 16)
    assert "short-key" not in str(wrong.value)


@pytest.mark.parametrize(
    ("read", "value", "kept"),
    [
        (env_url, "https://crosslog.example.org/", "https://crosslog.example.org"),
        (env_mailbox, "Crosslog <crosslog@example.org>", "Crosslog <crosslog@example.org>"),
        (env_mailbox, "", ""),
    ],
)
def test_addresses_are_kept(monkeypatch, read, value, kept):
    monkeypatch.setenv(NAME, value)
    assert read(NAME) == kept


def test_a_malformed_list_of_registries_stops_the_start_without_its_passwords(monkeypatch):
    monkeypatch.setenv(NAME, "main=ftp://reader:hidden@registry.example")
    with pytest.raises(ImproperlyConfigured, match="address of main") as caught:
        env_registries(NAME)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(("value", "expected"), [("yes", True), ("OFF", False), ("", True)])
def test_truth_has_several_words(monkeypatch, value, expected):
    monkeypatch.setenv(NAME, value)
    assert env_bool(NAME, default=True) is expected


def test_a_list_is_cut_at_commas(monkeypatch):
    monkeypatch.setenv(NAME, "a, b,,c")
    assert env_list(NAME) == ["a", "b", "c"]


def test_a_secret_key_is_made_once_and_for_this_user_only(tmp_path):
    path = tmp_path / "secret-key"
    first = env_secret_key(NAME, path)
    assert env_secret_key(NAME, path) == first
    assert len(first) >= 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_processes_that_start_at_once_agree_on_the_secret_key(tmp_path):
    keys = []
    threads = [
        threading.Thread(target=lambda: keys.append(env_secret_key(NAME, tmp_path / "key")))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(keys)) == 1


def test_a_given_secret_key_wins(monkeypatch, tmp_path):
    monkeypatch.setenv(NAME, "given")
    assert env_secret_key(NAME, tmp_path / "key") == "given"
    assert not (tmp_path / "key").exists()


def test_a_file_that_is_no_text_stops_the_start(monkeypatch, tmp_path):
    (tmp_path / "secret").write_bytes(b"\xff")
    monkeypatch.setenv("A_NAME_FILE", str(tmp_path / "secret"))
    with pytest.raises(ImproperlyConfigured, match=r"A_NAME_FILE=.* byte 0 is not UTF-8"):
        env_str("A_NAME", "")


@pytest.fixture
def paths(tmp_path):
    """A folder with a file and a link to itself."""
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    return tmp_path


@pytest.mark.parametrize("below", ["circle", "circle/home", "file", "file/home"])
def test_a_folder_that_cannot_be_made_stops_the_start(monkeypatch, paths, below):
    monkeypatch.setenv(NAME, str(paths / below))
    with pytest.raises(ImproperlyConfigured, match=f"{NAME}={paths / below} (is no folder|cannot)"):
        env_folder(NAME, paths)


def test_a_home_of_a_user_who_is_not_there_stops_the_start(monkeypatch, tmp_path):
    monkeypatch.setenv(NAME, "~no-such-user/crosslog")
    with pytest.raises(ImproperlyConfigured, match="a user without a home"):
        env_folder(NAME, tmp_path)


def test_a_key_that_cannot_be_kept_stops_the_start(paths):
    for name, why in (("circle", "symbolic links"), ("file/key", "Not a directory")):
        with pytest.raises(ImproperlyConfigured, match=f"cannot be kept in .*{why}"):
            env_secret_key(NAME, paths / name)
