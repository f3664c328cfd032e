"""Log files stay small whoever writes to them, and a line is text or JSON."""

import json
import logging
import sys

import pytest

from jobs.logs import JsonFormatter, LineFormatter, rotate


def test_a_small_log_stays(tmp_path):
    log = tmp_path / "web.log"
    log.write_text("a line\n")
    assert not rotate(log, 100)
    assert [path.name for path in tmp_path.iterdir()] == ["web.log"]


def test_there_need_be_no_log(tmp_path):
    assert not rotate(tmp_path / "web.log", 100)


def test_so_many_old_ones_are_kept(tmp_path):
    log = tmp_path / "web.log"
    for number in range(5):
        log.write_text(f"{number} " * 10)
        assert rotate(log, 10, kept=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["web.log", "web.log.1", "web.log.2"]
    assert (tmp_path / "web.log.1").read_text().startswith("4")
    assert (tmp_path / "web.log.2").read_text().startswith("3")
    assert log.read_text() == ""


def test_every_process_that_has_the_log_open_goes_on_writing_to_it(tmp_path):
    log = tmp_path / "web.log"
    with log.open("a") as one, log.open("a") as other:
        one.write("before\n" * 10)
        one.flush()
        assert rotate(log, 10, kept=1)
        for writer, line in ((one, "one\n"), (other, "other\n")):
            writer.write(line)
            writer.flush()
    assert log.read_text() == "one\nother\n"
    assert (tmp_path / "web.log.1").read_text() == "before\n" * 10


@pytest.mark.parametrize("kept", [0, 1])
def test_a_log_is_emptied_whether_or_not_old_ones_are_kept(tmp_path, kept):
    log = tmp_path / "web.log"
    log.write_text("a line\n" * 10)
    rotate(log, 10, kept)
    assert log.stat().st_size == 0
    assert (tmp_path / "web.log.1").exists() is bool(kept)


def test_a_line_of_json_holds_all_of_a_record():
    try:
        int("no number")
    except ValueError:
        record = logging.LogRecord(
            "crosslog.x", logging.WARNING, "", 1, "flow=%s\nfailed", ("ä",), sys.exc_info()
        )
    text = JsonFormatter().format(record)
    line = json.loads(text)
    assert "\n" not in text
    assert (line["level"], line["logger"], line["message"]) == (
        "WARNING",
        "crosslog.x",
        "flow=ä\nfailed",
    )
    assert line["time"].endswith("+00:00")
    assert "no number" in line["exception"]


HOSTILE = "a\n2030-01-01 00:00:00,000 INFO crosslog all is well\r\x1b[2J\x9b1m\u202eb\u2028c"


def hostile_record() -> logging.LogRecord:
    try:
        raise ValueError(HOSTILE)  # noqa: TRY301
    except ValueError:
        error = sys.exc_info()
    return logging.LogRecord("crosslog.x", logging.WARNING, "", 1, "group=%s", (HOSTILE,), error)


@pytest.mark.parametrize("formatter", [LineFormatter(), JsonFormatter()])
def test_a_name_begins_no_entry_of_its_own_and_moves_no_cursor(formatter):
    text = formatter.format(hostile_record())
    # What people's tools take for ends of lines, too.
    first, *more = text.splitlines()
    assert "crosslog.x" in first
    assert all(line.startswith("  ") for line in more)
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert text.count("\\u202e") == 2


def test_a_traceback_stays_readable():
    text = LineFormatter().format(hostile_record())
    assert "\n  Traceback (most recent call last):\n    File " in text


@pytest.mark.parametrize("formatter", [LineFormatter(), JsonFormatter()], ids=["text", "json"])
def test_of_a_url_in_a_line_or_an_exception_the_path_is_not_logged(formatter):
    try:
        int("https://hooks.example/PLANTED?token=PLANTED")
    except ValueError:
        record = logging.LogRecord(
            "a",
            logging.ERROR,
            "",
            1,
            "POST %s failed",
            ("https://hooks.example/PLANTED",),
            sys.exc_info(),
        )
    line = formatter.format(record)
    assert "'https://hooks.example/…'" in line
    assert "PLANTED" not in line
    assert "POST https://hooks.example/… failed" in line
