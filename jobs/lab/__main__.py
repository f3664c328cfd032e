"""`python -m jobs.lab lab ...`: the lab's command alone, without the rest of crosslog."""

from __future__ import annotations

import argparse
import sys

from jobs.lab import cli

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m jobs.lab")
    cli.lab(parser.add_subparsers(metavar="COMMAND", required=True).add_parser("lab"))
    chosen = parser.parse_args()
    sys.exit(chosen.run(chosen))
