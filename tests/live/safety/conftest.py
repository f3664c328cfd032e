"""The world of the tests of safety."""

from tests.console.safety.conftest import made_world, rail, world  # noqa: F401  fixtures
