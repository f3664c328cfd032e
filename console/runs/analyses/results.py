"""The answer of an analysis: its document, and the rows of its tables behind the document's first ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.exceptions import PermissionDenied

from console.frame.errors import ActionRefused
from console.frame.security.access import can
from console.runs import queries
from console.runs.actions import kept_for
from console.runs.analyses.questions import needed_right, written_arguments
from console.runs.analyses.spec import tables_of
from console.runs.models import Run, RunState
from jobs.spark.analyses.analysis import Column, ColumnType, Table


class RecordContent(PermissionDenied):
    """The answer holds content of records, and the person is no admin of its clusters."""

    code = "needs_admin"

    def __init__(self) -> None:
        super().__init__(
            "This result contains content of records. It is shown to users with the role admin on "
            "the clusters of the analysis."
        )


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """A table of an answer: how many rows it has, the first ones, and the folder with all of them."""

    table: Table
    rows: int
    preview: list[dict[str, Any]]
    folder: Path

    @property
    def rows_per_page(self) -> int:
        """How many rows a page shows: as many as are in the document; 1 without any."""
        return max(1, len(self.preview))

    @property
    def has_files(self) -> bool:
        """Whether all rows can be read here; those of a table without any, always."""
        return not self.rows or (self.folder / self.table.name).is_dir()

    def read(self, offset: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """Return rows as JSON values by column; raises `ActionRefused` when their files are gone."""
        if limit is not None and offset + limit <= len(self.preview):
            return self.preview[offset : offset + limit]
        return list(self.stream(offset, limit))

    def stream(self, offset: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Return the same row by row."""
        if not self.has_files:
            raise ActionRefused(
                "tables_removed",
                f"The rows of {self.table.title} are not in the archive of this machine any more, only "
                f"the first {len(self.preview)}. Run the analysis again.",
            )
        # Arrow is for rows behind the document's; most pages show no more than the document.
        from jobs.spark.analyses.document import read_rows

        return read_rows(self.table, self.folder, offset=offset, limit=limit)


def own_document(run: Run, summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document of an ended run as it is kept: with the names of logs instead of folders.

    `needs_admin` is kept with it, so that a later release without the kind still shows it to admins only.
    """
    if not run.is_analysis or "arguments" not in summary:
        return summary
    needs_admin = needed_right(run.kind, run.arguments) == "administer"
    return {
        **summary,
        "arguments": written_arguments(run.kind, run.arguments),
        "needs_admin": needs_admin,
    }


def check_reader(run: Run, user: Any) -> None:
    """Raise `RecordContent` for who may see a run, but not the content of records in its answer."""
    needs_admin = (run.summary or {}).get("needs_admin")
    if needs_admin and not can(user, "administer", *queries.where(run.pk)):
        raise RecordContent


def result_of(run: Run) -> dict[str, Any]:
    """Return the document of an answer; raises `ActionRefused` while or where there is none."""
    if not run.is_analysis:
        raise ActionRefused("no_result", "This run is not an analysis: it has no result document.")
    if run.is_live:
        text = "The result is not there yet: the analysis is queued or running."
        raise ActionRefused("not_ready", text)
    if not has_answer(run):
        reason = run.error or f"The run ended as {run.state}."
        raise ActionRefused("no_answer", f"There is no result: {reason}")
    return dict(run.summary or {})


def has_answer(run: Run) -> bool:
    """Say whether an analysis was answered."""
    return run.state == RunState.SUCCEEDED and "tables" in (run.summary or {})


def tables_in(run: Run) -> dict[str, AnswerTable]:
    """Return the tables of an answer by name, as its document describes them; raises as `result_of`.

    An answer can be read after its kind has changed or is gone.
    """
    folder = tables_of(run)
    return {
        told["name"]: AnswerTable(table_of(told), told["rows"], told["preview"], folder)
        for told in result_of(run)["tables"]
    }


def kept_until(run: Run) -> datetime | None:
    """Return when a run that ended is removed; None while it is live."""
    return None if run.finished_at is None else run.finished_at + kept_for(run)


def table_of(told: Mapping[str, Any]) -> Table:
    """Return a table as a document describes it."""
    columns = tuple(
        Column(one["name"], one["title"], ColumnType(one["type"]), one.get("definition", ""))
        for one in told["columns"]
    )
    return Table(told["name"], told["title"], columns)
