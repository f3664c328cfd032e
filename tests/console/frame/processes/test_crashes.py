"""The end of a program in one sentence, from its exit code and the end of its log."""

from pathlib import Path

import pytest

from console.frame.processes.crashes import why_ended

ROOT = Path(__file__).parents[4]
SEGFAULT = f"""2026-11-27 10:00:00 INFO something else
Fatal Python error: Segmentation fault

Thread 0x00007f1 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 324 in wait

Current thread 0x00007f2 (most recent call first):
  File "/x/lib/python3.11/site-packages/confluent_kafka/admin/__init__.py", line 1320 in list_offsets
  File "{ROOT}/jobs/cluster/admin/offsets.py", line 180 in _send
  File "{ROOT}/jobs/cluster/question.py", line 60 in attempt
  File "/x/lib/python3.11/concurrent/futures/thread.py", line 58 in run

Extension modules: numpy (total: 1)
"""


@pytest.mark.parametrize(
    ("code", "log", "sentence"),
    [
        pytest.param(
            -11,
            SEGFAULT,
            "It crashed (Segmentation fault) in list_offsets (confluent_kafka/admin/__init__.py), "
            "called from jobs/cluster/admin/offsets.py.",
            id="in a library",
        ),
        pytest.param(
            -6,
            f"Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
            f'  File "{ROOT}/jobs/cluster/client.py", line 3 in ask\n',
            "It crashed (Aborted) in ask (jobs/cluster/client.py).",
            id="in its own code",
        ),
        pytest.param(
            -11,
            "Fatal Python error: Segmentation fault\n\nCurrent thread",
            "It crashed (Segmentation fault).",
            id="the log ends early",
        ),
        pytest.param(-11, "", "It was ended by SIGSEGV.", id="nothing in the log"),
        pytest.param(
            -9,
            SEGFAULT,
            "It was ended by SIGKILL, as the kernel does when memory runs out.",
            id="killed after an earlier crash",
        ),
        pytest.param(-70, "", "It was ended by signal 70.", id="a signal without a name"),
        pytest.param(1, SEGFAULT, "It ended with exit code 1.", id="an exit code"),
    ],
)
def test_the_end_of_a_program_is_one_sentence(code, log, sentence):
    assert why_ended(code, log) == sentence
