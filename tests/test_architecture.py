"""The arrows of the design hold: who may import whom, and how long a file may be."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LONGEST_FILE = 400
# Lowest first: a folder of jobs/ may import itself and folders of a lower floor.
FLOORS = (
    {"version", "visible"},
    {
        "cache",
        "csv_text",
        "files",
        "logs",
        "limits",
        "numbers",
        "memory",
        "waiting",
        "patterns",
        "json_text",
        "near_names",
        "severity",
    },
    {"wire", "archives", "findings"},
    {"checks"},
    {"notifications", "objectives"},
    {"cluster"},
    {"reports"},
    {"replication", "quorum", "availability", "streams", "tracing"},
    {"spark"},
    {"lab"},
    {"entry", "commands"},
    {"cli"},
    {"__main__"},
)
# librdkafka 2.16.0 ends the process in several of its admin requests (segmentation faults, aborts).
ADMIN_CLIENT = "confluent_kafka.admin"
SHARED_ROOMS = {"frame", "clusters", "runs", "schedules", "accounts", "findings", "delivery"}
READS_ALL_QUERIES = {"overview", "checks", "reports", "metrics"}
# Status over time, and when partitions were added, are read from the changes of the metadata log. Flows say
# which applications could resume on the target, and applications through which flows.
ALSO_READS = {
    ("availability", "quorum"),
    ("replication", "streams"),
    ("streams", "quorum"),
    ("streams", "replication"),
}
CLIENT_LIBRARIES = {"confluent_kafka", "kafka", "aiokafka", "kio"}
RE_CALLS = {
    f"re.{name}"
    for name in (
        "compile",
        "match",
        "fullmatch",
        "search",
        "sub",
        "subn",
        "split",
        "findall",
        "finditer",
    )
}
CONSTANT_OR_ESCAPED = re.compile(r"_?[A-Z][A-Z_]*|re\.escape\(\w+\)")
# Rules that are written out beside their call, secrets that are escaped, and Django's own rule.
OWN_PATTERNS = {
    "console/frame/pages/error_pages.py",
    "jobs/cluster/untrusted_text.py",
}
# What rolls a time series up or reads it with gaps; see console/frame/series.py.
OF_SERIES = re.compile(
    r"^(LATE_S|GAP_STEPS|MOST_POINTS)\b.* = |import .*\bMod\b|F\(\"at_s\"\) - ", re.M
)
SLEEPS = {"time.sleep", "asyncio.sleep", "sleep"}
CLOCKS = re.compile(r"(time\.)?monotonic|time\.time|(asyncio\.get_\w+\(\)|(\w+\.)*_?loop)\.time")
# Bytes, checksums and compression: what does no I/O and knows nothing of Kafka.
WIRE_LIBRARIES = {"numpy", "numba", "llvmlite", "cramjam", "crc32c"}


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "migrations" not in path.parts)


@cache
def imports(path: Path) -> frozenset[str]:
    """Full names of everything that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def room(path: Path) -> str:
    """The folder (or module) right under jobs/ or console/ that a file belongs to."""
    first = path.relative_to(ROOT).parts[1]
    return first.removesuffix(".py")


def second(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def test_jobs_never_import_django_or_the_console():
    for path in sources("jobs"):
        forbidden = {"django", "rest_framework", "celery", "console"}
        assert not {name for name in imports(path) if name.split(".")[0] in forbidden}, path


def test_time_series_of_the_console_are_rolled_up_and_read_in_one_module():
    found = [path for path in sources("console") if OF_SERIES.search(path.read_text("utf-8"))]
    assert found == [ROOT / "console/frame/series.py"]


def test_console_never_imports_pyspark():
    for path in sources("console"):
        assert not {name for name in imports(path) if name.split(".")[0] == "pyspark"}, path


def test_only_the_cluster_door_imports_a_client_library():
    for path in sources("jobs") + sources("console"):
        if room(path) != "cluster" or "console" in path.parts:
            used = {name.split(".")[0] for name in imports(path)} & CLIENT_LIBRARIES
            assert not used, f"{path} imports {used}"


def test_wire_is_the_standard_library_compression_numbers_and_itself():
    for path in sources("jobs/wire"):
        for name in imports(path):
            known = name.split(".")[0] in sys.stdlib_module_names | WIRE_LIBRARIES
            assert known or name.startswith("jobs.wire"), f"{path}: {name}"


def test_only_the_protocol_client_and_its_requests_know_the_protocol_library():
    for path in sources("jobs"):
        uses = {name for name in imports(path) if name.split(".")[0] == "kio"}
        assert not uses or path.parts[-3:-1] == ("cluster", "admin") or "protocol" in path.parts, (
            f"{path} imports {uses}"
        )


def test_folders_of_jobs_import_only_lower_floors():
    floor_of = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    for path in sources("jobs"):
        if room(path) == "__init__":
            continue
        for name in imports(path):
            if name.startswith("jobs.") and second(name) != room(path):
                assert floor_of[second(name)] < floor_of[room(path)], f"{path} imports {name}"


def test_rooms_of_the_console_import_only_the_shared_rooms():
    for path in sources("console"):
        here = room(path)
        for name in imports(path):
            there = second(name)
            if not name.startswith("console.") or not (ROOT / "console" / there).is_dir():
                continue
            may_read = here in READS_ALL_QUERIES or (here, there) in ALSO_READS
            reads = may_read and "queries" in name.split(".")[2:4]
            outside = not (ROOT / "console" / here).is_dir()  # urls, settings: they join the rooms
            assert there == here or there in SHARED_ROOMS or reads or outside, f"{path}: {name}"


def test_frame_imports_no_room():
    for path in sources("console/frame"):
        rooms = {second(name) for name in imports(path) if name.startswith("console.")}
        assert not rooms & {
            "clusters",
            "replication",
            "quorum",
            "availability",
            "runs",
            "overview",
            "accounts",
        }, path


def test_only_patterns_of_our_own_reach_pythons_regular_expressions():
    """Python's engine tries one way after the other: what people give goes through `jobs.patterns`."""
    found = []
    for path in sources("jobs") + sources("console"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in RE_CALLS:
                ours = is_literal(node.args[0]) or str(path.relative_to(ROOT)) in OWN_PATTERNS
                found += [] if ours else [f"{path}:{node.lineno} {ast.unparse(node)}"]
        assert not {"fnmatch.translate", "fnmatch.fnmatch", "fnmatch"} & imports(path), path
    assert found == []


def is_literal(node: ast.expr) -> bool:
    """Return whether a pattern is written out, but for constants and what is escaped."""
    if isinstance(node, ast.JoinedStr):
        parts = [one.value for one in node.values if isinstance(one, ast.FormattedValue)]
        return all(CONSTANT_OR_ESCAPED.fullmatch(ast.unparse(part)) for part in parts)
    return isinstance(node, ast.Constant)


def test_nobody_imports_relatively():
    for path in sources("jobs") + sources("console"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        levels = {node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert levels <= {0}, path


@pytest.mark.parametrize("folder", ["jobs", "console", "tests", "tools", "bench"])
def test_no_file_is_longer_than_a_reader_can_hold(folder):
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in sources(folder)}
    assert not {path: lines for path, lines in lengths.items() if lines > LONGEST_FILE}


def test_importing_the_console_package_imports_nothing():
    code = "import console, sys; sys.exit('django' in sys.modules or 'celery' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_jobs_can_be_imported_without_django():
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sources("jobs")
        if path.name not in {"__init__.py", "__main__.py"} and "entry" not in path.parts
    ]
    code = (
        "import sys, importlib; sys.modules.update(django=None, celery=None, rest_framework=None)\n"
        f"for name in {modules}: importlib.import_module(name)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_requests_go_through_the_protocol_client_and_never_through_the_client_library():
    files = [*sources("jobs"), *sources("console")]
    assert [
        str(path) for path in files if any(n.startswith(ADMIN_CLIENT) for n in imports(path))
    ] == []


def test_tests_with_real_programs_wait_by_the_helpers_of_one_module():
    """`tests.waiting` has limit, pace and message; threads that make load may wait for their end."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources("tests/live") + sources("tests/journeys")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if waits_by_itself(node)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "is_refused"),
    [
        pytest.param("time.sleep(1)", True, id="a sleep"),
        pytest.param("await asyncio.sleep(1)", True, id="a sleep in a loop of events"),
        pytest.param("while time.monotonic() < end: ask()", True, id="until a time"),
        pytest.param("while not ask():\n assert loop.time() < end", True, id="a time in the body"),
        pytest.param(
            "while True:\n try: ask()\n except E: stop.wait(1)",
            True,
            id="asked again after a fault",
        ),
        pytest.param("while not self._stop.wait(1): write()", False, id="load"),
        pytest.param("while True:\n page = read()\n if page.is_last: break", False, id="pages"),
        pytest.param("began = time.monotonic()", False, id="a moment"),
    ],
)
def test_what_waits_by_itself_is_found(code, is_refused):
    assert any(waits_by_itself(node) for node in ast.walk(ast.parse(code))) is is_refused


def waits_by_itself(node: ast.AST) -> bool:
    """Say whether this is a call of sleep, or a loop that asks again until a time or after a fault."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in SLEEPS
    if not isinstance(node, ast.While):
        return False
    parts = list(ast.walk(node))
    calls = [ast.unparse(one.func) for one in parts if isinstance(one, ast.Call)]
    if any(CLOCKS.fullmatch(call) for call in calls):
        return True
    is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    waits = any(call.split(".")[-1] in {"sleep", "wait", "pause"} for call in calls)
    return is_endless and waits and any(isinstance(one, ast.Try) for one in parts)
