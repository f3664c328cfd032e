"""The layout holds: a folder is a capability, which has the same name everywhere and lists what it can do."""

import ast
import re
from pathlib import Path

import pytest
from django.utils.module_loading import import_string

from tests.test_architecture import ROOT, sources

MOST_MODULES = 16
MOST_OF_ONE_PREFIX = 3
# These lists only get shorter: what is in one of them is to be merged or split, nothing is added.
SHARED_PREFIXES: dict[str, set[str]] = {}
SECOND_FURNITURE = {
    "console/accounts/sign_in/oidc_pages.py",
    "console/availability/placements/observer_pages.py",
    "console/availability/status/broker_models.py",
    "console/availability/what_if/cluster_models.py",
    "console/frame/pages/error_pages.py",
    "console/quorum/history/state_pages.py",
    "console/quorum/log/import_actions.py",
    "console/quorum/log/import_api.py",
    "console/quorum/log/import_pages.py",
}
FURNITURE = {
    "models",
    "collect",
    "store",
    "queries",
    "actions",
    "api",
    "serializers",
    "pages",
    "forms",
    "tables",
    "work",
    "text",
    "tasks",
    "urls",
}
# Tests of what all rooms do alike, and documents that are compared byte by byte.
ACROSS_ROOMS = {"tests/console/api", "tests/console/safety"}
# Pages of Django's and of the frame that belong to no room, and what all rooms' pages are made of.
NO_ROOM = {"components", "errors", "registration"}
# Contracts of programs that import crosslog name these packages, not modules in them.
EXPORTS = {"jobs/availability/what_if", "jobs/quorum/voters"}
SECOND_NAMES = {
    "console/availability/status: Absence = OutOfSyncSpan",
    "console/availability/status: Unclean = UncleanElection",
    "console/availability/status: Whole = Rollup",
    "console/availability/status: promotions = promotion_queries",
    "console/availability/status: where = clusters.where",
    "console/quorum: Change = MetadataChange",
    "console/quorum: ChangeKind = Kind",
    "console/quorum: Log = MetadataLog",
    "console/quorum: Moment = history.Moment",
    "console/quorum: OutsideHistory = history.OutsideHistory",
    "console/replication/checkpoints: answers_for_application = applications.answers_for_application",
    "console/replication/checkpoints: answers_for_flows = applications.answers_for_flows",
    "console/replication/flows: Flow = ReplicationFlow",
    "console/replication/flows: answers = readiness",
    "console/replication/flows: crashed = with_crashes",
    "console/streams: read_needs = needs.read_needs",
}
TREES = ("jobs", "console", "templates", "tests", "tools", "bench")
ONLY_IN_THE_CONSOLE = {
    "console/availability/advice",
    "console/availability/collection",
    "console/availability/controller_sites",
    "console/replication/control",
    "console/replication/flows",
    "console/replication/measurement",
}
LONGEST_TEMPLATE_LINE = 160
LONG_TEMPLATE_LINES = 485
# Django gives these folders their names; what is in them is named by what calls it.
NAMED_BY_DJANGO = {"management", "migrations", "templatetags"}


def packages() -> list[str]:
    """Packages of jobs/ and console/, by their paths."""
    found = [
        path.parent for top in ("jobs", "console") for path in (ROOT / top).rglob("__init__.py")
    ]
    return sorted(
        str(path.relative_to(ROOT)) for path in found if NAMED_BY_DJANGO.isdisjoint(path.parts)
    )


def modules_by_folder() -> dict[str, list[str]]:
    """Names of modules by their folder, in jobs/ and console/."""
    found: dict[str, list[str]] = {}
    for path in sources("jobs") + sources("console"):
        if path.stem != "__init__":
            found.setdefault(str(path.parent.relative_to(ROOT)), []).append(path.stem)
    return found


def subfolders(top: Path) -> set[str]:
    """Folders below a folder that hold files of ours, relative to it."""
    files = [path for path in top.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {str(path.parent.relative_to(top)) for path in files} - {"."}


def test_no_folder_holds_more_modules_than_a_reader_can_survey():
    counts = {folder: len(names) for folder, names in modules_by_folder().items()}
    assert {folder: n for folder, n in counts.items() if n > MOST_MODULES} == {}


def test_no_prefix_of_modules_does_the_work_of_a_folder():
    found = {}
    for folder, names in modules_by_folder().items():
        first = [name.split("_")[0] for name in names]
        shared = {prefix for prefix in first if first.count(prefix) > MOST_OF_ONE_PREFIX}
        found |= {folder: shared} if shared else {}
    assert found == SHARED_PREFIXES


def test_a_sub_room_of_the_console_has_each_piece_of_furniture_once():
    """`pages.py`, not `x_pages.py`: with a second one of a kind, a sub-room is two."""
    second = {
        str(path.relative_to(ROOT))
        for path in sources("console")
        if len(path.relative_to(ROOT).parts) > 3
        and {"management", "templatetags"}.isdisjoint(path.parts)
        and path.stem not in FURNITURE
        and path.stem.rpartition("_")[2] in FURNITURE
    }
    assert second == SECOND_FURNITURE


@pytest.mark.parametrize("folder", packages())
def test_a_package_lists_its_sub_rooms_and_its_modules_in_reading_order(folder):
    text = (ROOT / folder / "__init__.py").read_text("utf-8")
    before, _, after = text.partition("In reading order:")
    modules = [path.stem for path in (ROOT / folder).glob("*.py") if path.stem != "__init__"]
    assert sorted(re.findall(r"`(\w+)`", after)) == sorted(modules)
    rooms = re.findall(r"`(\w+)`", before.partition("ooms:")[2])
    inside = [one for one in packages() if one.rpartition("/")[0] == folder]
    assert sorted(rooms) == sorted(one.rpartition("/")[2] for one in inside)


def test_the_map_names_every_folder_and_no_other():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = re.findall(r"^\| `((?:jobs|console)/[\w/]+)/` \|", text, re.MULTILINE)
    assert sorted(named) == sorted({*packages(), "jobs/entry"} - {"jobs", "console"})


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_the_documents_name_are_there(document):
    """A path may leave out its beginning where the text has just named the folder."""
    text = (ROOT / document).read_text("utf-8")
    there = {f"/{path.relative_to(ROOT)}" for top in TREES for path in (ROOT / top).rglob("*.*")}
    there |= {f"/{path.relative_to(ROOT)}" for path in ROOT.glob("*.py")}
    named = re.findall(r"`([\w/]+\.(?:py|html))`", text)
    assert named
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in there)] == []


def test_only_the_packages_of_contracts_export_names():
    for path in sources("jobs") + sources("console"):
        if path.stem == "__init__":
            body = ast.parse(path.read_text("utf-8")).body
            is_prose = all(isinstance(node, ast.Expr) for node in body)
            assert is_prose or str(path.parent.relative_to(ROOT)) in EXPORTS, path


def test_queries_give_things_their_own_names():
    """`Flow = ReplicationFlow` would be a second name for a reader to learn."""
    second = set()
    for path in sources("console"):
        if path.stem == "queries":
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.Assign) and isinstance(
                    node.value, ast.Name | ast.Attribute
                ):
                    second.add(f"{path.parent.relative_to(ROOT)}: {ast.unparse(node)}")
    assert second == SECOND_NAMES


def test_sub_rooms_have_the_same_name_in_jobs_and_in_the_console():
    in_jobs = {str(path.relative_to(ROOT / "jobs").with_suffix("")) for path in sources("jobs")}
    in_jobs |= subfolders(ROOT / "jobs")
    both = tuple(f"console/{room}/" for room in ("replication", "quorum", "availability"))
    rooms = [folder for folder in packages() if folder.startswith(both)]
    alone = {one for one in rooms if one.removeprefix("console/") not in in_jobs}
    assert alone == ONLY_IN_THE_CONSOLE


def test_end_tags_of_templates_are_whole():
    paths = sorted((ROOT / "templates").rglob("*.html"))
    broken = {path.name: re.findall(r"</\w+[^\w>]", path.read_text("utf-8")) for path in paths}
    assert {name: found for name, found in broken.items() if found} == {}


def test_lines_of_templates_get_no_longer():
    """Longer lines than `LONGEST_TEMPLATE_LINE` are counted: the number only falls."""
    paths = sorted((ROOT / "templates").rglob("*.html"))
    lines = [line for path in paths for line in path.read_text("utf-8").splitlines()]
    assert sum(len(line) > LONGEST_TEMPLATE_LINE for line in lines) == LONG_TEMPLATE_LINES


@pytest.mark.parametrize("folder", ["jobs", "console"])
def test_tests_stand_in_the_folders_of_what_they_test(folder):
    code, tests = subfolders(ROOT / folder), subfolders(ROOT / "tests" / folder)
    named = {str(Path(one).relative_to(f"tests/{folder}")) for one in ACROSS_ROOMS if folder in one}
    assert tests - code - named == set()


def test_templates_stand_in_the_folders_of_the_code_that_renders_them():
    code = subfolders(ROOT / "console")
    for folder in subfolders(ROOT / "templates"):
        parts = [part for part in Path(folder).parts if part != "cells"]
        assert parts[0] in NO_ROOM or "/".join(parts) in code, folder


def test_every_name_of_ours_in_the_settings_leads_to_something():
    text = (ROOT / "console" / "settings.py").read_text("utf-8")
    for name in sorted(set(re.findall(r'"(console(?:\.\w+)+)"', text))):
        is_module = find_spec_of(name)
        assert is_module or import_string(name) is not None


def find_spec_of(name: str) -> bool:
    path = ROOT / Path(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()
