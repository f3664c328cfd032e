"""Nothing in the tree belongs to one machine, one registry or one person."""

import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).parent.parent
# Written in pieces, so that this file does not find itself.
HOSTS = (
    "pypi" + r"\.org",
    "python" + r"hosted\.org",
    r"repo\d?\.maven",
    "maven" + r"\.apache\.org",
    "registry" + r"\.npmjs",
    r"--index-url[ =]\S",
)
FORBIDDEN = {
    "the address of a package registry": re.compile("|".join(HOSTS)),
    "a path of one machine": re.compile(
        r"(?<![\w.])/(?:root|work|home/(?!(?:you|me)\b)\w+|Users/\w+)/"
    ),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}"),
}

# The only program that looks beside the project, and its test.
LOOKS_BESIDE = {"tools/missing_cases.py", "tests/tools/test_missing_cases.py"}
BESIDE = re.compile(
    r"\.\./" + r"shared|shared/" + r"(?:conformance|reference)|\b" + r"reference/\w+\.md"
    r"|\bROOT\." + r"parent\b|\.\.\W+" + r"shared\b"
)
ABOVE = re.compile(r"__file__\)(?:\.\w+\(\))*(?:\.parents\[(\d+)\]|((?:\.parent\b)+))")


def tracked_files() -> list[Path]:
    """Files that belong to the project; an unpacked archive without git is not checked."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listing.returncode != 0:
        pytest.skip("git lists no files here: clone the project with git")
    return [ROOT / name for name in listing.stdout.split("\0") if name]


def matches(pattern: re.Pattern[str]) -> list[str]:
    """Return the text files in which a pattern is found, each with its first match."""
    found = []
    for path in tracked_files():
        if path.is_file() and b"\0" not in (content := path.read_bytes()):
            match = pattern.search(content.decode("utf-8", errors="replace"))
            found += [f"{path.relative_to(ROOT)}: {match[0]}"] if match else []
    return found


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_contains(what):
    assert matches(FORBIDDEN[what]) == []


def test_no_file_refers_to_a_folder_beside_the_project():
    found = matches(BESIDE)
    assert [one for one in found if one.partition(":")[0] not in LOOKS_BESIDE] == []


def folders_up(reference: re.Match[str]) -> int:
    """Return how many folders above its own file a path leads."""
    return int(reference[1]) if reference[1] else reference[2].count(".parent") - 1


def test_no_path_that_begins_at_a_file_leads_above_the_project():
    assert [
        f"{path.relative_to(ROOT)}: {reference[0]}"
        for path in tracked_files()
        if path.suffix == ".py" and path.is_file()
        for reference in ABOVE.finditer(path.read_text("utf-8"))
        if folders_up(reference) >= len(path.relative_to(ROOT).parts)
    ] == []


@pytest.mark.parametrize("name", ["install", "main", "dev"])
def test_every_locked_package_has_hashes(name):
    lock = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    packages = re.split(r"^(?=\S+==)", lock, flags=re.MULTILINE)[1:]
    assert packages
    assert [text.split()[0] for text in packages if "--hash=sha256:" not in text] == []


@pytest.mark.django_db
def test_the_models_have_no_change_without_a_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_the_licence_is_the_whole_apache_licence():
    licence = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in licence
    assert "END OF TERMS AND CONDITIONS" in licence
