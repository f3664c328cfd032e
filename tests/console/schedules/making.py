"""A starter that exists only on paper, and schedules for it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from console.accounts.models import User
from console.frame.errors import ActionRefused
from console.schedules import timing
from console.schedules.models import Schedule
from console.schedules.starters import Started, Starter
from jobs.cluster.errors import InvalidFields

KIND = "letter"


def at(text: str) -> datetime:
    """Return a moment of UTC: `at("2026-11-21 12:00")`."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


NOW = at("2026-11-21 12:01")


@dataclass
class PaperRoom:
    """Starts letters: notes who started what, and reports them live as a test wants."""

    started: list[tuple[str, str]] = field(default_factory=list)
    is_going_on: bool = False
    problem: Exception | None = None

    def starter(self) -> Starter:
        return Starter(
            kind=KIND,
            label="Letter",
            validate=self.validate,
            start=self.start,
            is_going_on=lambda schedule: bool(schedule.last_ref) and self.is_going_on,
            href=lambda ref: f"/letters/{ref}/",
        )

    def validate(self, arguments):
        if not arguments.get("to"):
            raise InvalidFields({"to": "Say to whom."})
        return {"to": arguments["to"]}

    def start(self, schedule, person, now):
        if self.problem:
            raise self.problem
        self.started.append((person.username, schedule.arguments["to"]))
        return Started(f"letter-{len(self.started)}")


def refusing() -> ActionRefused:
    return ActionRefused("no_paper", "There is no paper.")


def make_schedule(person: User | None, **fields) -> Schedule:
    """Make a schedule of every five minutes whose next time is the first after its making."""
    values = {
        "name": "Letter to Ada",
        "kind": KIND,
        "arguments": {"to": "ada"},
        "cron": "*/5 * * * *",
        "time_zone": "UTC",
        "created_by": person,
        "created_at": NOW,
    } | fields
    if "next_at" not in values:
        values["next_at"] = timing.next_after(values["cron"], values["time_zone"], NOW)
    return Schedule.objects.create(**values)
