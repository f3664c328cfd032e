"""The targets of the Makefile that take a name."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_room_that_does_not_exist_is_refused_with_the_rooms_that_do():
    ended = subprocess.run(
        ["make", "live", "ROOM=quorum nowhere"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    rooms = sorted(path.name for path in (ROOT / "tests" / "live").iterdir() if path.is_dir())
    assert ended.returncode == 2
    assert "There is no room nowhere. Rooms:" in ended.stdout
    assert all(room in ended.stdout for room in rooms if not room.startswith("_"))


def test_every_journey_is_marked_and_every_live_test_has_a_room():
    journeys = sorted((ROOT / "tests" / "journeys").glob("test_*.py"))
    assert len(journeys) >= 9
    assert [path.name for path in journeys if "mark.journey" not in path.read_text("utf-8")] == []
    assert list((ROOT / "tests" / "live").glob("test_*.py")) == []
