"""`python -m jobs.lab lab ...`: the lab's command alone, without the rest of crosslog."""

from __future__ import annotations

import argparse
import sys

from jobs.lab import cli

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m jobs.lab")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    cli.lab(commands.add_parser("lab", description=cli.lab.__doc__))
    chosen = parser.parse_args()
    sys.exit(chosen.run(chosen))
