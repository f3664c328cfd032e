"""`crosslog voters PATH`: the voters of a KRaft quorum over time, from the files of its metadata log."""

from __future__ import annotations

import argparse

from jobs.commands import command
from jobs.quorum.log.folder import BadFolder, LogFolder, read_folder
from jobs.quorum.timeline.voter_timeline import VoterTimeline, read_voter_timeline
from jobs.quorum.voters.control_scan import items_of_all_segments
from jobs.quorum.voters.report import has_finding, lines, report


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        folder = read_folder(arguments.path)
    except BadFolder as error:
        return command.say(error)
    timeline = read_timeline(folder, arguments.high_watermark)
    told = lines(folder, timeline, with_elections=arguments.elections)
    command.print_answer(arguments, lambda: report(folder, timeline), told)
    return command.FINDING if has_finding(timeline) else command.OK


def read_timeline(folder: LogFolder, high_watermark: int | None = None) -> VoterTimeline:
    """Return the timeline of a folder; its latest snapshot tells what is committed at least."""
    end = max((snapshot.offset for snapshot in folder.snapshots), default=None)
    return read_voter_timeline(
        items_of_all_segments(folder), high_watermark=high_watermark, snapshot_end=end
    )
