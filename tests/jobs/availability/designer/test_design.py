"""Placements from wishes: what is proposed, why, what it survives by what-if, and what is impossible."""

import json
import shlex
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jobs.availability.designer.cluster import cluster_of
from jobs.availability.designer.design import design
from jobs.availability.designer.requirements import (
    DesignRequirements,
    ImpossibleRequirements,
    InvalidRequirements,
    LossAllowed,
    ObserverSupport,
    Site,
    WritableAfter,
)
from jobs.availability.designer.split import Split, faults
from jobs.availability.designer.survival import survivals, worst_start
from jobs.availability.placements.placement import check_placement, parse_placement
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.simulation import simulate
from jobs.availability.what_if.steps import Loss

FENCED, ITSELF, NONE = (
    ObserverSupport.FENCED_STANDBY,
    ObserverSupport.PROMOTES_ITSELF,
    ObserverSupport.NONE,
)
WEST, EAST, HUB = Site("west", (11, 12, 13)), Site("east", (21, 22, 23)), Site("hub")
SMALL = (Site("west", (11, 12)), Site("east", (21, 22)), HUB)
THREE = (Site("a", (1, 2)), Site("b", (3, 4)), Site("c", (5, 6)))


def designed(*sites, **wishes):
    return design(DesignRequirements(sites, **wishes))


def shape(made):
    return [(one.replicas, one.observers, one.voters) for one in made.layout]


DESIGNS = [
    pytest.param(
        (WEST, EAST, HUB),
        {"observers": FENCED},
        [(2, 1, 2), (2, 1, 2), (0, 0, 1)],
        3,
        id="2.5 data centres with fenced standbys",
    ),
    pytest.param(
        (WEST, EAST, HUB),
        {"observers": ITSELF},
        [(2, 1, 2), (2, 1, 2), (0, 0, 1)],
        3,
        id="2.5 data centres with brokers that promote by themselves",
    ),
    pytest.param(THREE, {}, [(1, 0, 1), (1, 0, 1), (1, 0, 1)], 2, id="three data centres"),
    pytest.param(
        (WEST, EAST, HUB),
        {"rpo": LossAllowed.BOUNDED},
        [(2, 0, 2), (2, 0, 2), (0, 0, 1)],
        2,
        id="2.5 data centres, some records may be lost with a site",
    ),
    pytest.param(
        (WEST, EAST),
        {"observers": ITSELF, "majority_site": "west"},
        [(2, 1, 3), (2, 0, 2)],
        3,
        id="two data centres, one of them with the majority",
    ),
    pytest.param(
        (WEST, EAST),
        {"writable_after": WritableAfter.BROKER},
        [(2, 0, 3), (2, 0, 2)],
        3,
        id="two data centres, writes stop with a site but nothing is lost",
    ),
    pytest.param(
        SMALL,
        {"observers": FENCED},
        [(1, 1, 2), (1, 1, 2), (0, 0, 1)],
        2,
        id="two brokers per site: a promotion for each restart",
    ),
    pytest.param(
        (WEST,),
        {"rpo": LossAllowed.ANY, "writable_after": WritableAfter.BROKER},
        [(3, 0, 3)],
        2,
        id="one data centre",
    ),
    pytest.param(
        (Site("a", (1,)), Site("b", (2,)), Site("c", (3,)), Site("d", (4,))),
        {},
        [(1, 0, 2), (1, 0, 1), (1, 0, 1), (0, 0, 1)],
        2,
        id="four data centres",
    ),
]


@pytest.mark.parametrize(("sites", "wishes", "expected", "least"), DESIGNS)
def test_the_cheapest_placement_that_fulfils_the_wish(sites, wishes, expected, least):
    made = designed(*sites, **wishes)
    assert (shape(made), made.min_insync_replicas) == (expected, least)


@pytest.mark.parametrize(("sites", "wishes", "expected", "least"), DESIGNS)
def test_every_number_has_its_reason(sites, wishes, expected, least):
    made = designed(*sites, **wishes)
    told = {one.subject: one.sentence for one in made.reasons}
    assert {"replicas", "min_insync_replicas", "observers", "voters", "rto_s"} <= set(told)
    assert told["min_insync_replicas"].startswith(f"{least}: ")


@pytest.mark.parametrize(("sites", "wishes", "expected", "least"), DESIGNS)
def test_what_is_required_survives_by_the_simulation(sites, wishes, expected, least):
    made = designed(*sites, **wishes)
    wished = [one for one in made.survives if one.is_required]
    assert all(one.is_writable for one in wished)
    if made.requirements.rpo is LossAllowed.ZERO:
        assert not any(one.data_at_risk for one in made.survives)


@pytest.mark.parametrize(("sites", "wishes", "expected", "least"), DESIGNS)
def test_the_placement_is_one_that_its_brokers_can_hold(sites, wishes, expected, least):
    made = designed(*sites, **wishes)
    racks = {broker: site.name for site in sites for broker in site.brokers}
    assert check_placement(made.placement, racks) == {}
    assert parse_placement(made.placement.as_json()) == made.placement
    assert all(len(set(one)) == made.copies for one in made.assignment)


def test_each_survival_says_so_in_a_sentence():
    made = designed(WEST, EAST, HUB, observers=FENCED)
    assert [one.loss for one in made.survives] == [
        "site west",
        "site east",
        "site hub",
        "any one broker",
    ]
    west = made.survives[0]
    assert (west.promoted, west.needs_unclean, west.takes_s) == (1, False, pytest.approx(12.84))
    assert "crosslog promotes 1 observer" in west.sentence
    assert made.survives[2].takes_s == 0


def test_brokers_that_promote_by_themselves_have_no_measured_time():
    made = designed(WEST, EAST, HUB, observers=ITSELF, rto_s=60)
    assert made.survives[0].takes_s is None
    assert any("measure it in a drill" in one for one in made.warnings)


def test_the_site_with_the_majority_is_told_honestly():
    made = designed(WEST, EAST, observers=ITSELF, majority_site="west")
    west = made.survives[0]
    assert (west.is_required, west.is_writable, west.has_quorum) == (False, False, False)
    assert not west.data_at_risk
    assert "needs an operator" in " ".join(made.warnings)


def test_a_loss_that_may_lose_records_is_told():
    made = designed(WEST, EAST, HUB, rpo=LossAllowed.BOUNDED)
    assert [one.data_at_risk for one in made.survives] == [True, True, False, False]
    assert "site west, site east" in " ".join(made.warnings)


class TestAlternatives:
    def test_others_are_told_with_why_not(self):
        made = designed(WEST, EAST, HUB, observers=FENCED)
        told = {one.title: one.why_not for one in made.alternatives}
        assert "with the ISR in west only" in told["Two copies per site, min.insync.replicas 2"]
        assert "can be in sync" in told["Two copies per site, min.insync.replicas 3"]

    def test_a_cheaper_one_that_leans_on_promotions_is_possible(self):
        made = designed(WEST, EAST, HUB, observers=FENCED)
        (cheaper,) = [one for one in made.alternatives if one.is_possible]
        assert cheaper.copies < made.copies
        assert "each restart of a broker" in cheaper.why_not

    def test_the_chosen_one_is_not_among_them(self):
        made = designed(*THREE)
        taken = (tuple(shape(made)), made.min_insync_replicas)
        for one in made.alternatives:
            layout = tuple((s.replicas, s.observers, s.voters) for s in one.layout)
            assert (layout, one.min_insync_replicas) != taken


class TestAssignment:
    def test_leaders_go_round_and_observers_stand_last(self):
        made = designed(WEST, EAST, HUB, observers=FENCED, partitions=4)
        assert made.assignment == (
            (11, 12, 21, 22, 13, 23),
            (21, 22, 11, 12, 23, 13),
            (12, 11, 22, 21, 13, 23),
            (22, 21, 12, 11, 23, 13),
        )

    def test_leaders_stay_in_the_preferred_site(self):
        made = designed(*THREE, partitions=4, preferred_site="b")
        assert [one[0] for one in made.assignment] == [3, 4, 3, 4]

    def test_named_standbys_hold_the_observers(self):
        west, east = replace(WEST, standbys=(11,)), replace(EAST, standbys=(22,))
        made = designed(west, east, HUB, observers=FENCED)
        assert made.assignment[0][-2:] == (11, 22)
        assert [one.standbys for one in made.layout] == [(11,), (22,), ()]


IMPOSSIBLE = [
    pytest.param(
        (WEST, EAST, HUB),
        {},
        {"writable_after", "rpo", "observers"},
        id="2.5 data centres without observers",
    ),
    pytest.param((WEST, EAST), {"observers": FENCED}, {"sites"}, id="two sites and no majority"),
    pytest.param((WEST,), {}, {"sites"}, id="one site"),
    pytest.param(THREE, {"rto_s": 5}, {"rto_s"}, id="sooner than a dead broker is noticed"),
    pytest.param(THREE, {"most_copies": 2}, {"writable_after", "most_copies"}, id="too few copies"),
    pytest.param(
        (Site("a", (1,)), Site("b", (2,)), HUB), {"observers": FENCED}, None, id="too few brokers"
    ),
]


@pytest.mark.parametrize(("sites", "wishes", "fields"), IMPOSSIBLE)
def test_an_impossible_wish_says_at_its_field_what_would_be_possible(sites, wishes, fields):
    with pytest.raises(ImpossibleRequirements) as refused:
        designed(*sites, **wishes)
    problems = refused.value.problems
    assert fields is None or set(problems) == fields
    assert all(one.endswith(".") for one in problems.values())


@pytest.mark.parametrize(("sites", "wishes", "fields"), IMPOSSIBLE)
def test_what_is_said_to_be_possible_is(sites, wishes, fields):
    others = {
        "writable_after": [WritableAfter.BROKER, WritableAfter.NOTHING],
        "rpo": [LossAllowed.BOUNDED, LossAllowed.ANY],
        "observers": [FENCED, ITSELF],
        "most_copies": [None],
    }
    with pytest.raises(ImpossibleRequirements) as refused:
        designed(*sites, **wishes)
    for field in set(refused.value.problems) & set(others):
        tried = [
            _try(replace(DesignRequirements(sites, **wishes), **{field: value}))
            for value in others[field]
        ]
        assert any(tried), field


def _try(wish):
    try:
        return design(wish)
    except ImpossibleRequirements:
        return None


INVALID = [
    pytest.param((), {}, "sites", id="no site"),
    pytest.param((HUB,), {}, "sites", id="only a witness"),
    pytest.param((WEST, Site("west", (31,))), {}, "sites[1].name", id="a name twice"),
    pytest.param((WEST, Site(" ", (31,))), {}, "sites[1].name", id="no name"),
    pytest.param((WEST, Site("east", (11,))), {}, "sites[1].brokers", id="a broker twice"),
    pytest.param((Site("a", (-1,)),), {}, "sites[0].brokers", id="a negative id"),
    pytest.param(
        (Site("a", (1,), (2,)),), {"observers": FENCED}, "sites[0].standbys", id="strange"
    ),
    pytest.param((Site("a", (1, 2), (2,)),), {}, "observers", id="standbys but no observers"),
    pytest.param(THREE, {"preferred_site": "x"}, "preferred_site", id="an unknown site"),
    pytest.param((*SMALL,), {"preferred_site": "hub"}, "preferred_site", id="leaders in a witness"),
    pytest.param(THREE, {"majority_site": "a"}, "majority_site", id="a majority in three sites"),
    pytest.param((WEST, EAST), {"majority_site": "x"}, "majority_site", id="unknown majority"),
    pytest.param(THREE, {"topic": "a b"}, "topic", id="a topic with a blank"),
    pytest.param(THREE, {"partitions": 0}, "partitions", id="no partition"),
    pytest.param(THREE, {"partitions": 1_001}, "partitions", id="too many partitions"),
    pytest.param(THREE, {"rto_s": 0.0}, "rto_s", id="no time at all"),
    pytest.param(THREE, {"rto_s": 5, "writable_after": WritableAfter.NOTHING}, "rto_s", id="time"),
    pytest.param(THREE, {"voters": 4}, "voters", id="an even number of voters"),
    pytest.param(THREE, {"most_copies": 0}, "most_copies", id="no copies"),
    pytest.param(THREE, {"session_timeout_ms": 0}, "session_timeout_ms", id="no timeout"),
    pytest.param(tuple(Site(str(n), (n,)) for n in range(9)), {}, "sites", id="nine sites"),
]


@pytest.mark.parametrize(("sites", "wishes", "field"), INVALID)
def test_a_malformed_wish_is_refused_at_its_field(sites, wishes, field):
    with pytest.raises(InvalidRequirements) as refused:
        designed(*sites, **wishes)
    assert field in refused.value.problems


class TestCommands:
    def lines(self, **wishes):
        wanted = DesignRequirements((WEST, EAST, HUB), topic="orders", **wishes)
        made = design(wanted, KafkaTools("b:9092"))
        return made, {one.title: one for one in made.commands}

    def test_plain_kafka_gets_an_assignment(self):
        _, groups = self.lines(observers=FENCED, partitions=2)
        (create,) = groups["Create the topic"].lines
        words = shlex.split(create)
        told = words[words.index("--replica-assignment") + 1]
        assert told == "11:12:21:22:13:23,21:22:11:12:23:13"
        assert "min.insync.replicas=3" in words

    def test_a_fenced_standby_gets_its_properties(self):
        _, groups = self.lines(observers=FENCED)
        group = groups["Properties of broker 13, a fenced standby"]
        assert group.is_file
        assert group.lines == ("broker.rack=west", "broker.heartbeat.interval.ms=86400000")

    def test_brokers_that_know_observers_get_the_placement(self):
        made, groups = self.lines(observers=ITSELF)
        (write,) = groups["Placement constraints"].lines
        assert json.loads(shlex.split(write)[2]) == made.placement.as_json()
        assert "--replica-placement placement.json" in groups["Create the topic"].text

    def test_a_topic_that_is_there_is_moved_before_more_is_asked_of_it(self):
        made, _ = self.lines(observers=FENCED, is_existing_topic=True)
        text = [one.text for one in made.commands]
        move = next(n for n, one in enumerate(text) if "--execute" in one)
        ask = next(n for n, one in enumerate(text) if "min.insync.replicas=3" in one)
        assert move < ask
        assert not any("--create" in one for one in text)

    def test_controllers_are_laid_out(self):
        made, _ = self.lines(observers=FENCED)
        text = " ".join(one.text for one in made.commands)
        assert "--layout=west=2 --layout=east=2 --layout=hub=1" in text


def test_a_design_becomes_json_and_its_cluster_can_be_simulated():
    told = json.loads(json.dumps(designed(WEST, EAST, HUB, observers=FENCED).to_mapping()))
    assert told["copies"] == 6
    cluster = ClusterModel.from_json(told["cluster"])
    after = simulate(cluster, [Loss(racks=frozenset({"east"}))]).steps[0]
    assert all(one.after.is_writable for one in after.partitions)


COUNTS = st.integers(0, 2)


@given(
    sync=st.tuples(COUNTS, COUNTS, COUNTS),
    observers=st.tuples(COUNTS, COUNTS, COUNTS),
    least=st.integers(2, 5),
    support=st.sampled_from([FENCED, ITSELF]),
    after=st.sampled_from([WritableAfter.BROKER, WritableAfter.SITE]),
)
def test_the_sizing_rule_says_what_the_simulation_says(sync, observers, least, support, after):
    sites = tuple(
        Site(name, tuple(range(n, n + 4))) for name, n in (("a", 0), ("b", 10), ("c", 20))
    )
    wish = DesignRequirements(sites, observers=support, writable_after=after, partitions=3)
    split = Split(sync, observers, least)
    assume(sum(sync) >= least)
    told = survivals(cluster_of(split, wish), wish)
    is_fulfilled = all(one.is_writable for one in told if one.is_required) and not any(
        one.data_at_risk for one in told if one.loss.startswith("site")
    )
    assert is_fulfilled is not any(faults(split, wish))


def test_the_worst_start_is_the_least_that_takes_writes():
    wanted = DesignRequirements((WEST, EAST, HUB), observers=FENCED)
    cluster = cluster_of(Split((2, 2), (1, 1), 3), wanted)
    (partition,) = worst_start(cluster, frozenset({21, 22})).partitions
    assert set(partition.isr) == {21, 22, 11}


@pytest.mark.parametrize(
    ("sites", "rpo", "after", "support"),
    list(
        product(
            [(WEST, EAST, HUB), THREE, SMALL, (WEST,)], LossAllowed, WritableAfter, ObserverSupport
        )
    ),
)
def test_every_wish_is_fulfilled_or_refused_with_a_reason(sites, rpo, after, support):
    wish = DesignRequirements(sites, rpo=rpo, writable_after=after, observers=support)
    made = _try(wish)
    if made is None:
        with pytest.raises(ImpossibleRequirements) as refused:
            design(wish)
        assert refused.value.problems
    else:
        assert all(one.is_writable for one in made.survives if one.is_required)
