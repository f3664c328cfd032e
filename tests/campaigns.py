"""What `make test` leaves to `make campaign`: tests that are long by nature, each marked with its campaign.

A short one of each kind stays in `make test`. `pytest --campaign drills tests/live/availability` runs the
marked ones with all others there, with `--marked-only` those alone.
"""

import os

import pytest

# Seconds, seed and number of flows that a campaign gives to its tests.
SECONDS, SEED = "CROSSLOG_CAMPAIGN_S", "CROSSLOG_CAMPAIGN_SEED"
FLOWS = "CROSSLOG_CAMPAIGN_FLOWS"


def seconds_of_campaign(otherwise: float) -> float:
    """Return for how long a test may run in a campaign, and how long it runs without one."""
    return float(os.environ.get(SECONDS, otherwise))


def seed_of_campaign() -> int:
    """Return the seed of the campaign, 1 without one."""
    return int(os.environ.get(SEED, "1"))


def flows_of_campaign(otherwise: int) -> int:
    """Return how many flows a test has in a campaign, and how many without one."""
    return int(os.environ.get(FLOWS, otherwise))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that a campaign is run with."""
    told = "run what is marked with this campaign, too"
    parser.addoption("--campaign", metavar="NAME", help=told)
    parser.addoption("--marked-only", action="store_true", help="run nothing else")


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest the mark."""
    config.addinivalue_line(
        "markers", "campaign(name): run by `make campaign name`, not by `make test`"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to another campaign than the one that is run."""
    wanted = config.getoption("--campaign")
    is_alone = config.getoption("--marked-only")
    left_out = [
        item
        for item in items
        if (found := _campaign_of(item)) != wanted and (found is not None or is_alone)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _campaign_of(item: pytest.Item) -> str | None:
    mark = item.get_closest_marker("campaign")
    return mark and str(mark.args[0])
