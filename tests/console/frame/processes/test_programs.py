"""What `manage.py up` starts."""

import pytest

from console.frame.processes import programs


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_as_many_processes_answer_pages_as_are_wanted(settings, processes):
    settings.WEB_PROCESSES = processes
    command = programs.web("127.0.0.1", 8000).command
    assert command[command.index("--workers") + 1] == str(processes)


def test_two_processes_answer_pages_when_nobody_says_otherwise(settings):
    assert settings.WEB_PROCESSES == 2
