import io

import pytest

from jobs.lab.install.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_bar():
    stream = Terminal()
    Progress("fetching", 10, stream).show(5)
    assert "fetching [###############...............] 5/10" in stream.getvalue()


def test_a_log_gets_one_line_in_a_while():
    stream = io.StringIO()
    progress = Progress("fetching", 10, stream)
    progress.show(1)
    progress.show(2)
    assert stream.getvalue() == "fetching: 1/10 \n"


def test_the_end_says_how_long_it_took():
    stream = io.StringIO()
    with Progress("fetching", 1, stream):
        pass
    assert stream.getvalue().startswith("fetching: done in 0.")


def test_a_failed_step_is_not_called_done():
    stream = io.StringIO()
    with pytest.raises(RuntimeError), Progress("fetching", 1, stream):
        raise RuntimeError
    assert "done" not in stream.getvalue()
