"""A report made by the workers of a real console, from a schedule to a file in a shell."""

import os
import subprocess
import sys

import pypdf

from tests.running_console import ROOT, RunningConsole
from tests.waiting import eventually

TOKEN = {"name": "shell", "role": "admin", "days": 1}
WANTED = {"kind": "audit-trail", "name": "Trail", "period": "last-24-hours"}


def test_a_report_of_a_schedule_is_made_and_fetched(running: RunningConsole):
    visitor = running.visitor
    report = visitor.post("api/v1/reports/", WANTED)
    schedule = {"name": "Trail", "kind": "report", "cron": "0 7 * * MON"}
    made = visitor.post("api/v1/schedules/", schedule | {"arguments": {"report": report["id"]}})
    run = visitor.post(f"api/v1/schedules/{made['id']}/run/")["ref"]
    path = f"api/v1/report-runs/{run}/"
    eventually(lambda: visitor.get(path)["state"] in {"ready", "failed"}, 60, every=0.5)
    assert visitor.get(path)["state"] == "ready", visitor.get(path)["error"]
    assert "report.create" in visitor.page(f"{path}files/json/")


def test_a_shell_gets_a_report_with_a_token(running: RunningConsole, tmp_path):
    token = running.visitor.post("api/v1/tokens/", TOKEN)["secret"]
    path = tmp_path / "trail.pdf"
    command = [sys.executable, "-m", "jobs", "report", "audit-trail", "--period", "last-24-hours"]
    ended = subprocess.run(
        [*command, "--url", running.url, "--output", str(path)],
        cwd=ROOT,
        env={**os.environ, "CROSSLOG_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, f"{path}\n"), ended.stderr
    text = "".join(page.extract_text() for page in pypdf.PdfReader(path).pages)
    assert "Audit log" in text
    assert "token.create" in text


def test_a_shell_is_told_what_is_wrong(running: RunningConsole):
    token = running.visitor.post("api/v1/tokens/", TOKEN)["secret"]
    command = [sys.executable, "-m", "jobs", "report", "replication", "--subject", "nowhere"]
    for extra, environment, code, sentence in (
        ([], {"CROSSLOG_TOKEN": token}, 2, "subjects: There is no flow nowhere."),
        ([], {"CROSSLOG_TOKEN": ""}, 2, "Set CROSSLOG_TOKEN"),
        (["--url", "http://127.0.0.1:9"], {"CROSSLOG_TOKEN": token}, 1, "did not answer"),
    ):
        where = extra or ["--url", running.url]
        ended = subprocess.run(
            [*command, *where],
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == code, ended.stderr
        assert sentence in ended.stderr
