"""Runbooks: each severity with each cause has steps, filled in and quoted, each with its check."""

import json
import re
import shlex
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

import jobs.availability.runbooks.runbook as runbook_module
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.availability.runbooks.runbook import (
    RunbookFacts,
    Trouble,
    TroubleCause,
    cause_of,
    known,
    runbook,
    text_of,
)
from jobs.availability.status.severity import Severity
from jobs.quorum.history.changes import Cause

FOLDER = Path(runbook_module.__file__).parent
FILES = sorted(str(path.relative_to(FOLDER))[:-3] for path in FOLDER.rglob("*.md"))
NAMED = re.compile(r"\{(\w+)\}")
TOOLS = KafkaTools("b1:9092,b2:9092", command_config="/etc/kafka/my client.properties")
FULL = RunbookFacts(
    topic="orders",
    partition=3,
    replicas=(1, 2, 3, 4, 5),
    isr=(2, 5),
    leader=2,
    elr=(1,),
    observers=(4, 5),
    spares=(7,),
    min_insync_replicas=3,
    tools=TOOLS,
    page="/clusters/c/availability/partitions/orders/3/",
)
LEADERLESS = replace(FULL, leader=None, isr=())
NOTHING = RunbookFacts("orders", 3)
ALL = [pytest.param(*both, id="-".join(both)) for both in product(Trouble, TroubleCause)]
SCRIPTS = {
    "kafka-topics",
    "kafka-configs",
    "kafka-leader-election",
    "kafka-reassign-partitions",
    "kafka-log-dirs",
    "kafka-metadata-quorum",
    "kafka-cluster",
    "kafka-get-offsets",
    "kafka-server-start",
    "kafka-server-stop",
}


def facts_for(trouble):
    return LEADERLESS if trouble is Trouble.OFFLINE else FULL


def typed(book):
    return [line for step in book.steps for line in step.commands]


@pytest.mark.parametrize(("trouble", "cause"), ALL)
def test_every_severity_with_every_cause_has_a_runbook(trouble, cause):
    book = runbook(trouble, cause, facts_for(trouble))
    assert book.title.startswith("If orders-3 ")
    assert book.summary.endswith(".")
    assert book.prevent.endswith(".")
    assert [step.number for step in book.steps] == list(range(1, len(book.steps) + 1))
    assert len(book.steps) >= 4


@pytest.mark.parametrize("known_facts", [FULL, LEADERLESS, NOTHING], ids=["all", "offline", "none"])
@pytest.mark.parametrize(("trouble", "cause"), ALL)
def test_nothing_is_left_to_fill_in(trouble, cause, known_facts):
    for step in runbook(trouble, cause, known_facts).steps:
        words = [step.sentence, step.check.expect]
        assert not [one for one in words if re.search(r"\{\w+\}|None", one)], words
        for line in (*step.commands, step.check.command):
            assert "{}" not in line
            assert "None" not in line


@pytest.mark.parametrize(("trouble", "cause"), ALL)
def test_every_command_is_one_line_of_a_shell_with_the_clusters_address(trouble, cause):
    book = runbook(trouble, cause, facts_for(trouble))
    for line in (*typed(book), *(step.check.command for step in book.steps)):
        words = shlex.split(line)
        assert "\n" not in line
        if words[0] in {"printf", "#"}:
            continue
        name = words[0].removeprefix("bin/").removesuffix(".sh")
        assert name in SCRIPTS
        if not name.startswith("kafka-server"):
            assert words[words.index("--bootstrap-server") + 1] == "b1:9092,b2:9092"
            assert words[words.index("--command-config") + 1] == "/etc/kafka/my client.properties"


@pytest.mark.parametrize(("trouble", "cause"), ALL)
def test_every_step_says_what_to_see_and_where_crosslog_shows_it(trouble, cause):
    for step in runbook(trouble, cause, facts_for(trouble)).steps:
        assert step.check.command
        assert step.check.expect.endswith(".")
        assert step.check.page == FULL.page


def test_every_step_that_names_a_fact_has_other_words_or_is_left_out():
    bare = runbook(Trouble.UNDER_MIN_ISR, TroubleCause.BROKER_DEAD, NOTHING)
    full = runbook(Trouble.UNDER_MIN_ISR, TroubleCause.BROKER_DEAD, FULL)
    assert len(bare.steps) < len(full.steps)


def test_a_name_that_a_shell_would_understand_is_quoted():
    hostile = replace(FULL, topic="a;rm -rf $HOME'`", tools=KafkaTools("h:1; reboot"))
    for trouble, cause in product(Trouble, TroubleCause):
        for line in typed(runbook(trouble, cause, hostile)):
            # Quoted words do not fall apart: a parser of shells finds no operator outside of quotes.
            tokens = list(shlex.shlex(line, posix=True, punctuation_chars=";&|`"))
            assert not {";", "&", "&&", "|", "`", "||"} & set(tokens), line


def test_each_cause_and_each_severity_has_its_file_and_no_file_is_left_over():
    causes = {"causes/setting", *(f"causes/{one}" for one in TroubleCause)}
    assert set(FILES) == {"every", *causes, *(f"severities/{one}" for one in Trouble)}


@pytest.mark.parametrize("name", FILES)
def test_a_file_names_only_what_can_be_known(name):
    text = (FOLDER / f"{name}.md").read_text()
    assert set(NAMED.findall(text)) <= set(known(NOTHING))
    assert text.count("\n1. ") == len(text_of(name).steps)


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_says_is_plain_text(name):
    """Pages show it as it is: no HTML, and no Markdown but the form of the files."""
    said = [text_of(name).title, text_of(name).about]
    for step in text_of(name).steps:
        said += [step.sentence, step.otherwise, step.expect]
        assert set(step.only) <= set(Trouble)
    assert not [one for one in said if re.search(r"[<>`*\[\]#]|  |1\. ", one.replace("RF <", ""))]


def test_a_step_of_another_form_is_refused_with_its_text():
    with pytest.raises(ValueError, match="Do something"):
        runbook_module._template("1. Do something.\n")


@pytest.mark.parametrize(
    "topic",
    [
        "a;rm -rf $HOME'`",
        "$(reboot)",
        "<script>alert(1)</script>",
        "a\nreboot",
        "{broker} **b** [l](x)",
    ],
)
def test_a_name_reaches_the_shell_as_one_word_and_a_sentence_as_it_is(topic):
    hostile = replace(FULL, topic=topic, tools=KafkaTools("h:1; reboot"))
    plain = replace(FULL, topic="TOPIC", tools=KafkaTools("SERVER"))
    for trouble, cause in product(Trouble, TroubleCause):
        pairs = zip(
            runbook(trouble, cause, hostile).steps,
            runbook(trouble, cause, plain).steps,
            strict=True,
        )
        for step, expected in pairs:
            assert step.sentence == expected.sentence.replace("TOPIC", topic)
            lines = zip(
                (*step.commands, step.check.command),
                (*expected.commands, expected.check.command),
                strict=True,
            )
            for line, like in lines:
                escaped = json.dumps(topic)[1:-1] if line.startswith("printf") else topic
                words = [one.replace("SERVER", "h:1; reboot") for one in shlex.split(like)]
                assert shlex.split(line) == [one.replace("TOPIC", escaped) for one in words]


class TestWhatIsDangerous:
    def test_an_unclean_election_is_the_last_resort_of_what_is_offline(self):
        book = runbook(Trouble.OFFLINE, TroubleCause.LAST_SITE_LOST, LEADERLESS)
        (step,) = [step for step in book.steps if step.is_dangerous]
        assert "--election-type unclean" in step.command
        assert "cannot be reverted" in step.sentence

    def test_it_is_nowhere_else(self):
        for trouble, cause in product(set(Trouble) - {Trouble.OFFLINE}, TroubleCause):
            lines = " ".join(typed(runbook(trouble, cause, FULL)))
            assert "--election-type unclean" not in lines

    def test_a_partition_that_has_a_leader_is_never_elected_uncleanly(self):
        book = runbook(Trouble.OFFLINE, TroubleCause.UNKNOWN, FULL)
        assert "unclean" not in " ".join(typed(book))

    def test_relaxing_is_dangerous_and_followed_by_its_way_back(self):
        book = runbook(Trouble.UNDER_MIN_ISR, TroubleCause.BROKER_DEAD, FULL)
        asked = [step.command or "" for step in book.steps]
        relax = next(n for n, line in enumerate(asked) if "min.insync.replicas=2" in line)
        assert book.steps[relax].is_dangerous
        assert "min.insync.replicas=3" in asked[relax + 1]


@pytest.mark.parametrize(
    ("seen", "cause", "title"),
    [
        pytest.param(None, None, "If orders-3 is at min ISR: a failed broker", id="healthy"),
        pytest.param(Trouble.AT_MIN_ISR, TroubleCause.BROKER_DEAD,
                     "orders-3 is at min ISR: a failed broker", id="as it was seen"),
        pytest.param(Trouble.AT_MIN_ISR, TroubleCause.UNKNOWN,
                     "orders-3 is at min ISR: possibly a failed broker", id="another cause"),
    ],
)  # fmt: skip
def test_a_title_states_only_what_was_seen(seen, cause, title):
    book = runbook(
        Trouble.AT_MIN_ISR, TroubleCause.BROKER_DEAD, replace(FULL, trouble=seen, cause=cause)
    )
    assert book.title == title
    assert book.applies is (seen is not None and cause is TroubleCause.BROKER_DEAD)


@pytest.mark.parametrize(
    ("seen", "words"),
    [(None, "orders-3 is healthy"), (Trouble.AT_MIN_ISR, "orders-3 is at min ISR")],
    ids=str,
)
def test_a_runbook_for_another_state_names_the_one_that_was_seen(seen, words):
    book = runbook(Trouble.OFFLINE, TroubleCause.BROKER_DEAD, replace(FULL, trouble=seen))
    assert book.actual.startswith(words)


def test_the_broker_that_is_missing_is_the_one_to_start():
    book = runbook(Trouble.UNDER_REPLICATED, TroubleCause.BROKER_DEAD, FULL)
    assert "broker 1" in book.steps[2].sentence


def test_its_replica_goes_to_the_spare():
    book = runbook(Trouble.AT_MIN_ISR, TroubleCause.BROKER_DEAD, FULL)
    assert '"replicas":[7,2,3,4,5]' in " ".join(typed(book))


def test_an_observer_is_promoted_and_demoted_by_name():
    book = runbook(Trouble.UNDER_MIN_ISR, TroubleCause.BROKER_DEAD, FULL)
    assert any(line.endswith("promote broker 4") for line in typed(book))
    book = runbook(Trouble.UNDER_REPLICATED, TroubleCause.STANDBY_PROMOTED_TOO_LONG, FULL)
    assert any(line.endswith("demote broker 5") for line in typed(book))


WORDS = [
    ("broker_fenced", "broker_fenced"),
    ("isr_shrink", "lagging_follower"),
    ("log_dir_failed", "log_dir_offline"),
    ("unclean_election", "unclean_election"),
    ("reassignment_started", "reassignment_in_progress"),
    ("quorum_lost", "quorum_lost"),
    ("topic_created", "unknown"),
    ("", "unknown"),
]


@pytest.mark.parametrize(("word", "cause"), WORDS, ids=[word or "none" for word, _ in WORDS])
def test_a_cause_of_the_log_has_its_runbook(word, cause):
    assert cause_of(word) == cause


def test_every_cause_of_the_log_is_known_or_unknown_but_never_an_error():
    assert {cause_of(one.value) for one in Cause} <= set(TroubleCause)


def test_the_words_of_severities_are_those_of_the_ladder():
    ladder = {one.word for one in Severity if one is not Severity.OK}
    assert ladder == {one.value for one in Trouble} - {Trouble.RF_BELOW_MIN_ISR.value}
