"""The change advisor: safe orders, Kafka's commands, refusals with their reasons."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.quorum.advisor.advice import plan_change
from jobs.quorum.advisor.commands import Tools
from jobs.quorum.advisor.input import state_from_document
from jobs.quorum.advisor.plan import DiskReplacement, RefusalCode, WantedChange
from jobs.quorum.advisor.state import Observed, QuorumState
from jobs.quorum.voters.voter_sets import Endpoint, ReplicaKey, VoterNode, VoterSet
from tests.jobs.quorum.voter_sets import directory, node, voters

THREE = voters(1, 2, 3)


def state(set_: VoterSet = THREE, alive: set[int] | None = None, **facts) -> QuorumState:
    known = {"kraft_version": 1, "leader_id": 1, "is_change_pending": False} | facts
    return QuorumState(set_, frozenset(set_.ids if alive is None else alive), **known)


def moves(plan) -> list[str]:
    return [f"{'+' if step.is_add else '-'}{step.key.id}" for step in plan.steps]


def refused(plan) -> RefusalCode | None:
    return plan.refusal.code if plan.refusal else None


class TestOrder:
    def test_two_voters_more_are_added_one_by_one(self):
        plan = plan_change(state(), WantedChange(add=(node(4), node(5))))
        assert moves(plan) == ["+4", "+5"]
        assert [step.after.outlook.failures_tolerated for step in plan.steps] == [1, 2]
        assert plan.after.voters.ids == {1, 2, 3, 4, 5}
        assert plan.warnings == ()

    def test_a_voter_is_exchanged_by_adding_first(self):
        plan = plan_change(state(), WantedChange(add=(node(4),), remove=(2,)))
        assert moves(plan) == ["+4", "-2"]
        assert min(step.after.outlook.failures_tolerated for step in plan.steps) == 1

    def test_a_dead_voter_is_removed_first(self):
        plan = plan_change(state(alive={1, 2}), WantedChange(add=(node(4),), remove=(3,)))
        assert moves(plan) == ["-3", "+4"]

    def test_the_leader_goes_last(self):
        plan = plan_change(state(voters(1, 2, 3, 4, 5)), WantedChange(remove=(1, 2)))
        assert moves(plan) == ["-2", "-1"]
        assert any("election" in warning for warning in plan.steps[-1].warnings)

    def test_a_disk_is_replaced_by_a_removal_and_an_addition(self):
        new = directory()
        plan = plan_change(state(), WantedChange(replace=(DiskReplacement(2, new),)))
        assert moves(plan) == ["-2", "+2"]
        assert [step.key for step in plan.steps] == [THREE.node(2).key, ReplicaKey(2, new)]
        assert any("no further voter" in warning for warning in plan.steps[0].warnings)

    def test_a_new_disk_that_observes_already_is_found(self):
        new = directory()
        seen = (Observed(ReplicaKey(2, new), 0, 10),)
        plan = plan_change(state(observers=seen), WantedChange(replace=(DiskReplacement(2),)))
        assert plan.steps[-1].key == ReplicaKey(2, new)

    def test_a_replica_that_is_gone_is_not_taken_for_the_new_disk(self):
        old, new = THREE.node(2).key, ReplicaKey(2, directory())
        seen = (
            Observed(old, 0, 5),
            Observed(ReplicaKey(2, directory()), 0, 9_000),
            Observed(new, 0, 90),
        )
        plan = plan_change(state(observers=seen), WantedChange(replace=(DiskReplacement(2),)))
        assert plan.steps[-1].key == new

    def test_everybody_may_be_exchanged(self):
        wanted = WantedChange(add=(node(4), node(5), node(6)), remove=(1, 2, 3))
        plan = plan_change(state(), wanted)
        assert plan.after.voters.ids == {4, 5, 6}
        assert moves(plan)[-1] == "-1"


class TestRefusals:
    @pytest.mark.parametrize(
        ("known", "wanted", "code"),
        [
            pytest.param(state(kraft_version=0), WantedChange(remove=(1,)), RefusalCode.STATIC_QUORUM, id="static quorum"),
            pytest.param(state(has_leader=False), WantedChange(remove=(1,)), RefusalCode.NO_LEADER, id="no leader"),
            pytest.param(state(alive={1}), WantedChange(remove=(2,)), RefusalCode.NO_MAJORITY, id="no majority now"),
            pytest.param(state(is_change_pending=True), WantedChange(remove=(2,)), RefusalCode.PENDING_CHANGE, id="another change is pending"),
            pytest.param(state(alive={1, 2}), WantedChange(remove=(2,)), RefusalCode.LOSES_MAJORITY, id="the step loses the majority"),
            pytest.param(state(voters(1, 2), {1, 2}), WantedChange(add=(node(3),), remove=(1, 2)), None, id="two for one"),
            pytest.param(state(), WantedChange(remove=(9,)), RefusalCode.NOT_A_VOTER, id="no voter"),
            pytest.param(state(), WantedChange(add=(node(2),)), RefusalCode.ALREADY_VOTER, id="a voter already"),
            pytest.param(state(), WantedChange(), RefusalCode.NOTHING_WANTED, id="nothing"),
            pytest.param(state(), WantedChange(remove=(1, 2, 3)), RefusalCode.LAST_VOTER, id="no voter left"),
            pytest.param(state(), WantedChange(remove=(1,), replace=(DiskReplacement(1),)), RefusalCode.CONTRADICTION, id="named twice"),
            pytest.param(state(), WantedChange(replace=(DiskReplacement(1, THREE.node(1).directory_id),)), RefusalCode.SAME_DISK, id="the same disk"),
            pytest.param(state(observers=()), WantedChange(add=(node(4),)), RefusalCode.NOT_OBSERVED, id="not running"),
            pytest.param(state(), WantedChange(add=(replace(node(4), max_kraft_version=0),)), RefusalCode.WRONG_VERSION, id="too old"),
            pytest.param(state(), WantedChange(add=tuple(node(n) for n in range(10, 30))), RefusalCode.TOO_MANY_CHANGES, id="too many"),
            pytest.param(state(voters(1), {1}), WantedChange(replace=(DiskReplacement(1),)), RefusalCode.CONTRADICTION, id="the disk of the only voter"),
        ],
    )  # fmt: skip
    def test_an_unsafe_or_impossible_change_has_a_reason(self, known, wanted, code):
        plan = plan_change(known, wanted)
        assert refused(plan) == code
        if code is not None:
            assert plan.steps == ()
            assert plan.refusal.sentence
            assert plan.refusal.todo

    @pytest.mark.parametrize(
        "seen",
        [
            Observed(ReplicaKey(4), 0, 0, has_caught_up=False),
            Observed(ReplicaKey(4), 0, 60_001),
            Observed(ReplicaKey(4), 100_000, 0),
        ],
        ids=["never had everything", "silent for a minute", "far behind"],
    )
    def test_who_is_not_caught_up_is_not_added(self, seen):
        new = VoterNode(ReplicaKey(4))
        assert refused(plan_change(state(observers=(seen,)), WantedChange(add=(new,)))) == (
            RefusalCode.NOT_CAUGHT_UP
        )

    def test_a_voter_without_a_known_directory_is_not_removed(self):
        known = state(voters(1, 2, 3, has_directory=False))
        assert refused(plan_change(known, WantedChange(remove=(1,)))) == RefusalCode.NO_DIRECTORY_ID


class TestCommands:
    def test_a_removal_names_id_and_directory_and_asks_those_that_stay(self):
        (step,) = plan_change(state(), WantedChange(remove=(3,))).steps
        assert step.command == (
            "bin/kafka-metadata-quorum.sh --bootstrap-controller localhost:9991,localhost:9992 remove-controller "
            f"--controller-id 3 --controller-directory-id {THREE.node(3).directory_id}"
        )
        assert step.check.endswith("describe --status")
        assert "auto.join" in step.prepare[0]

    def test_an_addition_runs_with_the_properties_of_the_new_node(self):
        tools = Tools("broker:9092", "/etc/kafka/{id}.properties", cluster_id="abc")
        (step,) = plan_change(state(), WantedChange(add=(node(4),)), tools).steps
        assert step.command == (
            "bin/kafka-metadata-quorum.sh --bootstrap-server broker:9092 --command-config "
            "/etc/kafka/4.properties add-controller"
        )
        assert (
            "bin/kafka-storage.sh format --cluster-id abc --config /etc/kafka/4.properties --no-initial-controllers"
            in step.prepare
        )
        assert any("LISTENER://localhost:9994" in line for line in step.prepare)

    def test_dead_voters_are_not_asked(self):
        (step,) = plan_change(state(voters(1, 2, 3, 4), {1, 2, 3}), WantedChange(remove=(4,))).steps
        assert "localhost:9994" not in step.command

    def test_names_of_a_log_cannot_run_anything_in_a_shell(self):
        evil = VoterNode(ReplicaKey(2, "$(reboot)"), (Endpoint("C", "a;reboot", 1),))
        set_ = VoterSet((THREE.voters[0], evil, THREE.voters[2]))
        plan = plan_change(state(set_), WantedChange(remove=(2,)))
        assert "'$(reboot)'" in plan.steps[0].command
        plan = plan_change(state(set_), WantedChange(remove=(3,)))
        assert "'localhost:9991,a;reboot:1'" in plan.steps[0].command

    def test_credentials_are_given_when_there_are_some(self):
        tools = Tools(client_properties="admin.properties")
        (step,) = plan_change(state(), WantedChange(remove=(3,)), tools).steps
        assert "--command-config admin.properties remove-controller" in step.command


class TestResult:
    @pytest.mark.parametrize(
        ("wanted", "words"),
        [
            (WantedChange(add=(node(4),)), "even number"),
            (WantedChange(remove=(3,)), "2 voters after the change"),
        ],
    )
    def test_a_result_that_is_not_good_is_reported(self, wanted, words):
        assert any(words in warning for warning in plan_change(state(), wanted).warnings)

    def test_sites_whose_loss_stops_the_quorum_are_named(self):
        sites = {1: "a", 2: "b", 3: "c", 4: "a", 5: "a"}
        plan = plan_change(state(sites=sites), WantedChange(add=(node(4), node(5))))
        assert plan.before.deadly_sites == ()
        assert plan.after.deadly_sites == ("a",)
        assert any("loss of a alone" in warning for warning in plan.warnings)

    def test_what_was_not_queried_is_reported(self):
        plan = plan_change(QuorumState(THREE), WantedChange(remove=(3,)))
        assert len(plan.notes) == 4

    def test_a_plan_is_json_values(self):
        told = plan_change(state(), WantedChange(add=(node(4),), remove=(1,))).to_mapping()
        assert told["possible"] is True
        assert [step["action"] for step in told["steps"]] == ["add", "remove"]
        assert told["steps"][0]["before"]["failuresTolerated"] == 1


ids = st.sets(st.integers(1, 9), min_size=1, max_size=7)


@given(ids, st.data())
def test_no_plan_passes_through_a_state_without_a_majority(present, drawn):
    set_ = voters(*present)
    alive = drawn.draw(st.sets(st.sampled_from(sorted(present))))
    some = st.sets(st.sampled_from(sorted(present)), max_size=4)
    removed = drawn.draw(some)
    replaced = drawn.draw(some) - removed
    added = drawn.draw(st.sets(st.integers(10, 14), max_size=4))
    wanted = WantedChange(
        tuple(node(id_) for id_ in added),
        tuple(removed),
        tuple(DiskReplacement(id_, directory()) for id_ in replaced),
    )
    plan = plan_change(state(set_, alive, leader_id=min(present)), wanted)
    assert (plan.refusal is None) is bool(plan.steps)
    at = set_
    for step in plan.steps:
        assert step.before.voters == at
        assert step.before.outlook.has_majority
        assert step.after.outlook.has_majority
        assert step.before.voters.has_overlapping_majority(step.after.voters)
        assert abs(len(step.before.voters) - len(step.after.voters)) == 1
        assert step.before.voters.majority + step.after.voters.majority > len(
            step.before.voters.keys | step.after.voters.keys
        )
        at = step.after.voters
    if plan.steps:
        assert at.ids == (present - removed) | added


@pytest.mark.parametrize(
    ("told", "lag", "has_caught_up"),
    [
        ({"lag": -1}, None, False),
        ({"lag": -1, "caughtUp": False}, None, False),
        ({"lag": 0}, 0, True),
        ({}, None, True),
    ],
)
def test_a_lag_of_minus_1_is_not_known_and_not_caught_up(told, lag, has_caught_up):
    document = {"voters": [{"id": 1}], "observers": [{"id": 4, **told}]}
    (seen,) = state_from_document(document).observers or ()
    assert (seen.lag_records, seen.has_caught_up) == (lag, has_caught_up)
