#!/usr/bin/env python3
"""Record `tests/conformance` again from a Kafka of the lab: what changed is then a diff.

    .venv/bin/python tools/record_conformance.py SUBJECT... [--kafka VERSION]

Only what Kafka answers is replaced (`recorded` in a subject's file says which kinds of cases). Questions,
and cases built by hand, stay as they are.
"""

import argparse
import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from jobs.cluster.errors import ClusterFault
from jobs.lab.errors import LabError
from jobs.lab.install.releases import KAFKA_VERSION, VERSIONS
from tools.recording.case_files import CONFORMANCE

# Subject -> module of tools/recording that has `record_SUBJECT(version, folder)`.
SUBJECTS = {
    "api_versions": "api_versions",
    "kraft_log": "kraft_log",
    "kraft_vectors": "kraft_vectors",
    "mirror_maker_properties": "mirror_maker",
    "mirror_maker_records": "mirror_maker",
    "offset_translation": "mirror_maker",
    "replication_policy": "mirror_maker",
    "streams_live": "streams_live",
    "streams_partitioning": "streams",
    "streams_userdata": "streams",
}


def main() -> int:
    """Record the subjects that are named and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "subjects", nargs="+", choices=SUBJECTS, metavar="SUBJECT", help=", ".join(SUBJECTS)
    )
    parser.add_argument(
        "--kafka", default=KAFKA_VERSION, choices=VERSIONS, help=f"default: {KAFKA_VERSION}"
    )
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="write there, not to tests/conformance"
    )
    options = parser.parse_args()
    for subject in options.subjects:
        module = importlib.import_module(f"tools.recording.{SUBJECTS[subject]}")
        folder = CONFORMANCE / subject if options.into is None else options.into / subject
        try:
            folder.mkdir(parents=True, exist_ok=True)
            record(getattr(module, f"record_{subject}"), options.kafka, folder)
        except (LabError, ClusterFault, OSError) as error:
            print(f"{subject}: {error}", file=sys.stderr)
            return 1
        print(f"recorded {folder} from Kafka {options.kafka}")
    return 0


def record(subject: Callable[[str, Path], None], version: str, folder: Path) -> None:
    """Replace files and folders with those of a recording; where that fails, `folder` is unchanged."""
    with tempfile.TemporaryDirectory(prefix="crosslog-recording-") as temporary:
        subject(version, Path(temporary))
        for made in Path(temporary).iterdir():
            if (folder / made.name).is_dir():
                shutil.rmtree(folder / made.name)
            shutil.move(made, folder / made.name)


if __name__ == "__main__":
    sys.exit(main())
