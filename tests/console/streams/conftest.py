"""Who looks at applications; each file has its own `shop`."""

import pytest


@pytest.fixture
def visitor(sign_in, viewer, shop):
    return sign_in(viewer)


@pytest.fixture
def helper(sign_in, operator, shop):
    return sign_in(operator)
