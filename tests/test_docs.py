"""What the documents name exists, and what exists is named in the documents."""

import argparse
import re
from pathlib import Path

import pytest
from django.core.management import get_commands
from drf_spectacular.generators import SchemaGenerator

from console.celery import app as celery
from console.frame.rounds import KINDS
from jobs.cli import build_parser

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Variables that other programs define and we only follow.
OF_OTHERS = {"COMP_LINE", "DJANGO_SETTINGS_MODULE", "JAVA_HOME", "PYTHONPATH", "XDG_CACHE_HOME"}


def text_of(*names: str) -> str:
    return "\n".join((ROOT / name).read_text("utf-8") for name in names)


def everything() -> str:
    return "\n".join(path.read_text("utf-8") for path in DOCUMENTS)


def variables() -> set[str]:
    """Every environment variable of our own that the code reads."""
    paths = [path for folder in ("console", "jobs") for path in (ROOT / folder).rglob("*.py")]
    code = "\n".join(path.read_text("utf-8") for path in paths)
    through_readers = re.findall(r"""env_\w+\(\s*["']([A-Z][A-Z0-9_]+)["']""", code)
    directly = re.findall(r"""environ(?:\.get\(|\[)["']([A-Z][A-Z0-9_]+)["']""", code)
    return set(through_readers) | set(directly) - OF_OTHERS


def commands_of(parser: argparse.ArgumentParser, name: str) -> list[str]:
    """`crosslog lab`, `crosslog lab start`, ...: every command with its subcommands."""
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                found += [f"{name} {word}", *commands_of(inner, f"{name} {word}")]
    return found


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))


def routes() -> list[str]:
    """Every route of the API, as the schema writes it: `/api/v1/clusters/{alias}/`."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return sorted(schema["paths"])


def tasks() -> list[str]:
    celery.loader.import_default_modules()
    return sorted(name for name in celery.tasks if name.startswith("console."))


def own_management_commands() -> list[str]:
    return sorted(name for name, where in get_commands().items() if where.startswith("console."))


def shell_lines() -> list[str]:
    """The commands in the README's code blocks."""
    blocks = re.findall(r"```(?:sh|bash|console)\n(.*?)```", text_of("README.md"), re.DOTALL)
    lines = [line.split("#")[0].strip(" $") for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def test_every_document_that_the_code_cites_is_in_the_repository():
    sources = [
        *ROOT.glob("jobs/**/*.py"),
        *ROOT.glob("console/**/*.py"),
        *ROOT.glob("templates/**/*.html"),
    ]
    known = {path.name for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))}
    cited = {
        (str(path.relative_to(ROOT)), name)
        for path in sources
        for name in re.findall(r"\b[\w-]+\.md\b", path.read_text())
    }
    assert sorted((where, name) for where, name in cited if name not in known) == []


@pytest.mark.parametrize("document", [".env.example", "docs/operate.md"])
def test_every_environment_variable_is_described(document):
    described = set(re.findall(r"\b[A-Z][A-Z0-9_]{3,}\b", text_of(document)))
    assert variables() - described == set()


def test_the_example_environment_names_only_variables_that_are_read():
    named = re.findall(r"^#?\s?([A-Z][A-Z0-9_]+)=", text_of(".env.example"), re.MULTILINE)
    assert named
    assert set(named) - variables() == set()


@pytest.mark.parametrize("command", commands_of(build_parser(), "crosslog"))
def test_every_command_is_in_the_documents(command):
    assert command in everything()


@pytest.mark.parametrize("target", sorted(make_targets()))
def test_every_make_target_is_in_the_documents(target):
    assert f"make {target}" in everything()


@pytest.mark.parametrize("command", own_management_commands())
def test_every_management_command_is_in_the_documents(command):
    assert f"manage.py {command}" in everything()


def test_every_route_of_the_api_is_in_the_documents():
    described = text_of("docs/automation.md")
    assert [route for route in routes() if f"`{route}`" not in described] == []


def test_the_documents_name_no_route_that_does_not_exist():
    named = set(re.findall(r"`(/api/v1/[^`\s?]*)`", everything()))
    assert named - set(routes()) - {"/api/v1/", "/api/v1/docs/", "/api/v1/schema/"} == set()


def test_every_background_task_is_in_the_documents():
    described = text_of("docs/operate.md")
    assert [name for name in tasks() if f"`{name}`" not in described] == []


def test_every_kind_of_round_is_in_the_documents():
    celery.loader.import_default_modules()
    described = text_of("docs/operate.md")
    assert [name for name in KINDS if f"| `{name}` |" not in described] == []


def test_the_commands_in_the_readme_exist():
    known = {f"make {target}" for target in make_targets()}
    known |= {f"manage.py {name}" for name in get_commands()}
    known |= set(commands_of(build_parser(), "crosslog"))
    for line in shell_lines():
        command = re.sub(r"^(\S*/)?(python3?) ", "", line)
        if re.match(r"(make|manage\.py|crosslog) ", command):
            assert " ".join(command.split()[:2]) in known, line


def test_links_between_the_documents_lead_somewhere():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
