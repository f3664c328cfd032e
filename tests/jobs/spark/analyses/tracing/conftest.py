"""Coroutines are tests in this folder."""

from tests.jobs.cluster.protocol.coroutines import run_coroutine_test


def pytest_pyfunc_call(pyfuncitem):
    return run_coroutine_test(pyfuncitem)
