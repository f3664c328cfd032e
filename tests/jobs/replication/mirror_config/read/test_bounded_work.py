"""Hostile configurations are read or refused at once: work grows with their length, not with its square."""

import subprocess
import sys

import pytest

LENGTH = 400_000
# A quadratic way takes minutes for each of these.
GUARD_S = 60
READ = """
import sys
from jobs.replication.mirror_config.read.configuration import InputFile, read_config
from jobs.replication.mirror_config.read.text_input import BadInput
try:
    read_config([InputFile("a.properties", sys.stdin.buffer.read())])
except BadInput:
    pass
"""
FLOW = "clusters = A, B\nA->B.enabled = true\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" + "\n" * LENGTH, id="empty lines"),
        pytest.param("x" + "\r\n" * (LENGTH // 2), id="empty lines of Windows"),
        pytest.param("x\n" + " \t" * (LENGTH // 2), id="blanks"),
        pytest.param(f"{FLOW}A.sasl.jaas.config = a.LoginModule b{' ' * LENGTH}c\n", id="blanks in JAAS"),
        pytest.param(f"{FLOW}A.sasl.jaas.config = {'a' * LENGTH}\n", id="one word in JAAS"),
        pytest.param(f"{FLOW}A.x = password{' ' * LENGTH}\n", id="blanks behind a secret's name"),
    ],
)  # fmt: skip
def test_a_long_one_takes_no_long_time(text):
    told = subprocess.run(
        [sys.executable, "-c", READ], input=text.encode(), timeout=GUARD_S, check=False
    )
    assert told.returncode == 0
