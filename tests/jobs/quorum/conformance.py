"""The real log of ../shared, where it is there."""

import pytest

from tests.support import CONFORMANCE

KRAFT_LOG = CONFORMANCE / "kraft_log" / "node-1"
needs_kraft_log = pytest.mark.skipif(
    not KRAFT_LOG.is_dir(), reason="needs ../shared/conformance/kraft_log"
)
