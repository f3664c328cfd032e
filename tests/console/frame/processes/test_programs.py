"""What `manage.py up` starts."""

import pytest

from console.frame.processes import programs


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_as_many_processes_answer_pages_as_are_wanted(settings, processes):
    settings.WEB_PROCESSES = processes
    (options,) = programs.web("127.0.0.1", 8000).run.args
    assert options[options.index("--workers") + 1] == str(processes)


def test_two_processes_answer_pages_when_nobody_says_otherwise(settings):
    assert settings.WEB_PROCESSES == 2


def test_what_signs_is_named_as_before():
    signing = [
        part.name for one in (programs.services(), programs.promoter()) for part in one.signing
    ]
    assert signing == ["beat", "follower", "metadata", "promoter"]


def test_promotions_are_kept_by_a_process_of_their_own():
    assert [part.name for part in programs.promoter().signing] == ["promoter"]


def test_every_program_is_told_to_end():
    started = {
        one.name
        for one in (
            programs.web("127.0.0.1", 8000),
            programs.services(),
            programs.promoter(),
            *(programs.worker(queue, 1) for queue in ("collect", "flows", "spark")),
        )
    }
    assert {name for names in programs.STOP_ORDER for name in names} == started
