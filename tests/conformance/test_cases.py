"""The conformance cases themselves: their form, their READMEs, and that each of them is used."""

import ast
import hashlib
import json
from collections import Counter
from functools import cache

import pytest

from jobs.quorum.log.folder import read_folder
from tests.support import CONFORMANCE, KRAFT_LOG, METADATA_FOLDER, REPORTED
from tests.test_architecture import ROOT
from tools.record_conformance import SUBJECTS
from tools.recording.case_files import as_text

FILES = sorted(CONFORMANCE.glob("*/cases.json"))
FOLDERS = [
    path
    for top in (CONFORMANCE, REPORTED)
    for path in sorted(top.iterdir())
    if path.is_dir() and path.name != "__pycache__"
]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
# Rules in words, and the test that holds crosslog to each.
MIRROR_RECORDS = "tests/jobs/wire/test_mirror_records.py::test_"
PLACEMENTS = "tests/jobs/availability/test_conformance.py::test_"
RULES = {
    ("mirror_maker_records", "truncated"): f"{MIRROR_RECORDS}every_proper_prefix_is_refused",
    ("mirror_maker_records", "trailing-bytes"): (
        f"{MIRROR_RECORDS}bytes_after_the_last_field_are_ignored"
    ),
    ("mirror_maker_records", "checkpoint-null-metadata"): (
        f"{MIRROR_RECORDS}a_checkpoint_without_metadata_has_an_empty_text"
    ),
    ("mirror_maker_records", "tombstone"): f"{MIRROR_RECORDS}a_null_is_refused_with_its_reason",
    ("offset_translation", "checkpoint-monotonic"): (
        "tests/jobs/replication/checkpoints/test_rules.py::"
        "test_a_checkpoint_is_written_when_it_says_something_new"
    ),
    ("placements", "rule-v1"): f"{PLACEMENTS}each_version_has_its_default_policy",
    ("placements", "rule-racks"): (
        f"{PLACEMENTS}a_cluster_holds_a_placement_when_each_rack_has_brokers_enough"
    ),
    ("placements", "rule-promote"): (
        f"{PLACEMENTS}observers_come_until_the_policy_is_content_and_not_before"
    ),
    ("placements", "rule-all-sync-die"): (
        f"{PLACEMENTS}without_sync_replicas_there_is_no_leader_until_an_unclean_election"
    ),
    ("placements", "rule-sizing"): (
        f"{PLACEMENTS}a_topic_stays_writable_iff_the_other_sites_have_min_isr"
    ),
}
# What MirrorMaker 2 does and crosslog does not.
NOT_DONE_HERE = {
    ("replication_policy", "task_assignment"): (
        "crosslog's flows have no tasks of Kafka Connect: partitions are dealt by their load, "
        "see jobs/spark/flow_driver/balancing.py"
    ),
}


@cache
def cases_of(subject):
    return json.loads((CONFORMANCE / subject / "cases.json").read_text("utf-8"))["cases"]


@each_file
def test_every_case_has_an_id_of_its_own(path):
    counts = Counter(case["id"] for case in cases_of(path.parent.name))
    assert [id_ for id_, count in counts.items() if count > 1] == []


@each_file
def test_a_file_of_cases_has_the_form_that_makes_small_diffs(path):
    text = path.read_text("utf-8")
    assert text == as_text(json.loads(text)) + "\n"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_every_folder_says_what_it_holds(folder):
    assert (folder / "README.md").is_file()


def test_every_folder_is_in_the_table_of_its_readme():
    for top in (CONFORMANCE, REPORTED):
        text = (top / "README.md").read_text("utf-8")
        named = [one.name for one in FOLDERS if one.parent == top and f"`{one.name}`" in text]
        assert named == [one.name for one in FOLDERS if one.parent == top]


def test_the_table_says_made_by_command_of_what_the_command_records():
    rows = (CONFORMANCE / "README.md").read_text("utf-8").splitlines()
    made = [row.split("`")[1] for row in rows if row.rpartition(" | ")[2].startswith("command")]
    assert made == list(SUBJECTS)


def test_every_reported_fault_is_named_by_a_test():
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    assert [
        path.name for path in REPORTED.iterdir() if path.is_dir() and path.name not in tests
    ] == []


def test_the_log_of_a_real_node_is_unchanged():
    files = sorted(path for path in KRAFT_LOG.rglob("*") if path.is_file())
    listed = (KRAFT_LOG.parent / "sha256.txt").read_text("utf-8").splitlines()
    assert sorted(listed) == sorted(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(KRAFT_LOG.parent)}"
        for path in files
    )


def test_the_facts_of_the_log_are_those_of_the_log():
    facts = json.loads((KRAFT_LOG.parent / "facts.json").read_text("utf-8"))
    assert facts["log_start_offset"] == read_folder(METADATA_FOLDER).log_start_offset


@each_file
def test_every_kind_of_case_is_used_by_a_test(path):
    subject = path.parent.name
    kinds = {case["kind"] for case in cases_of(subject)} - {"rule"}
    used = {kind for name, kind in used_kinds() if name == subject}
    without = {kind for name, kind in NOT_DONE_HERE if name == subject}
    assert kinds == used | without
    assert not used & without


def test_every_rule_in_words_has_its_test():
    rules = {
        (path.parent.name, case["id"])
        for path in FILES
        for case in cases_of(path.parent.name)
        if case["kind"] == "rule"
    }
    assert rules == set(RULES)
    for place in RULES.values():
        module, _, name = place.partition("::")
        defined = {one.name for one in tree_of(module).body if isinstance(one, ast.FunctionDef)}
        assert name in defined, place


@cache
def used_kinds():
    """Return subject and kind of each call of `conformance_cases` below tests/."""
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        if "conformance_cases(" not in path.read_text("utf-8"):
            continue
        module = str(path.relative_to(ROOT))
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "conformance_cases":
                subject, *kinds = (text for one in node.args for text in texts_of(one, module))
                found |= {(subject, kind) for kind in kinds}
    return found


def texts_of(node, module):
    """Return the texts that an argument is: itself, a constant of its module, or the keys of a table."""
    if isinstance(node, ast.Starred):
        return texts_of(node.value, module)
    if isinstance(node, ast.Dict):
        return [one.value for one in node.keys]
    if isinstance(node, ast.Constant):
        return [node.value]
    for one in tree_of(module).body:
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == node.id:
            return texts_of(one.value, module)
        if isinstance(one, ast.ImportFrom) and node.id in {name.name for name in one.names}:
            return texts_of(node, f"{one.module.replace('.', '/')}.py")
    raise AssertionError(f"{module}: {node.id} is no constant")


@cache
def tree_of(module):
    return ast.parse((ROOT / module).read_text("utf-8"))
