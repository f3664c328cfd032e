"""A description is compared with what the members of the application read."""

import pytest

from jobs.streams.application import Application, Protocol, Subtopology, Thread
from jobs.streams.assembly import fitting
from jobs.streams.observation import Facts
from jobs.streams.topology.described import with_prefix
from jobs.streams.topology.fitting import fit_of
from jobs.streams.topology.reading import read_description

REPARTITION = "shop-by-key-repartition"
RUNS = {"0": ("orders",), "1": (REPARTITION, "prices")}


def text(*subtopologies):
    """A description with these sources for each subtopology; `global: x` reads x into a global store."""
    lines = ["Topologies:"]
    for number, sources in enumerate(subtopologies):
        is_global = sources.startswith("global: ")
        mark = " for global store (will not generate tasks)" if is_global else ""
        lines.append(f"   Sub-topology: {number}{mark}")
        for at, topics in enumerate(sources.removeprefix("global: ").split("; ")):
            lines += [f"    Source: s{number}{at} (topics: {topics})", "      --> none"]
    return "\n".join(lines)


def running(parts=None, problem=None):
    parts = RUNS if parts is None else parts
    thread = Thread("member", "client", "/10.0.0.1", problem=problem)
    found = {name: Subtopology(name, topics, 4) for name, topics in parts.items()}
    return Application(
        "shop", Protocol.CLASSIC, "Stable", 0, (thread,), found, {}, {}, None, {}
    )  # fmt: skip


def compared(*subtopologies, parts=None, problem=None):
    described = read_description(text(*subtopologies))
    return fit_of(
        with_prefix(described, "shop", ["orders", "prices", REPARTITION]), running(parts, problem)
    )


@pytest.mark.parametrize(
    ("described", "parts"),
    [
        pytest.param(("[orders]", "[by-key-repartition, prices]"), None, id="short names"),
        pytest.param(("ord.*", "[by-key-repartition, prices]"), None, id="a source by pattern"),
        pytest.param(("[orders]; o.*", "[by-key-repartition, prices]"), None, id="both"),
        pytest.param(
            ("[orders]", "global: [currencies]", "[prices]"),
            {"0": ("orders",), "2": ("prices",)},
            id="a global store is read outside of the group",
        ),
        pytest.param(
            ("[orders]", "eu-.*"), {"0": ("orders",)}, id="a pattern that matches nothing"
        ),
        pytest.param(("(?<=x)y.*", "[by-key-repartition, prices]"), None, id="not evaluated"),
        pytest.param(("[nosuch]",), {}, id="never seen whole: nothing to compare with"),
    ],
)
def test_the_description_of_what_runs_fits(described, parts):
    fit = compared(*described, parts=parts)
    assert (fit.problems, fit.is_other, fit.caution) == ((), False, "")


@pytest.mark.parametrize(
    "described",
    [("[nosuch]", "[other]"), ("eu-.*",), ("global: [currencies]",)],
    ids=["names", "a pattern", "a global store only"],
)
def test_a_description_without_a_common_topic_is_of_another_application(described):
    assert compared(*described).is_other


def test_the_topics_that_differ_are_named():
    assert compared("[nosuch]", "[other]").problems == (
        "The description reads nosuch, other, which the application does not read.",
        f"The application reads orders, prices, {REPARTITION}, which the description does not read.",
    )


@pytest.mark.parametrize(
    ("described", "told"),
    [
        pytest.param(
            ("[orders]", "[by-key-repartition]"),
            "The application reads prices, which the description does not read.",
            id="an older version",
        ),
        pytest.param(
            ("[orders, returns]", "[by-key-repartition, prices]"),
            "The description reads returns, which the application does not read.",
            id="a newer version",
        ),
        pytest.param(
            ("[orders]", "[by-key-repartition]", "[prices]"),
            "The description has 3 subtopologies (0, 1, 2), the application runs 2 (0, 1).",
            id="another number of subtopologies",
        ),
        pytest.param(
            ("[by-key-repartition, prices]", "[orders]"),
            f"Subtopology 0 reads prices, {REPARTITION} by the description, orders in the application.",
            id="other numbers of subtopologies",
        ),
    ],
)
def test_another_version_of_the_application_differs_and_says_in_what(described, told):
    fit = compared(*described)
    assert told in fit.problems
    assert not fit.is_other
    assert "is not used" in fit.caution


def test_internal_topics_are_known_by_what_members_read_where_no_topic_was_asked():
    described = read_description(text("[orders]", "[by-key-repartition, prices]"))
    assert fitting(running(), Facts(0, {}, {}), described)[1].problems == ()


def test_what_members_of_unreadable_bytes_read_is_not_judged():
    assert compared("[orders, returns]", "[prices]", "[x]", problem="Broken.").problems == (
        f"The application reads {REPARTITION}, which the description does not read.",
    )
