"""Record `streams_userdata` and `streams_partitioning` with the classes of Kafka Streams."""

from pathlib import Path

from tools.recording.case_files import read_cases, write_cases
from tools.recording.kafka_classes import ask

MAIN = "org.apache.kafka.streams.processor.internals.StreamsAnswers"


def record_streams_userdata(version: str, folder: Path) -> None:
    """Write what Kafka's encoders make of the fields of each case, and what its decoders read from that."""
    _record("streams_userdata", version, folder)


def record_streams_partitioning(version: str, folder: Path) -> None:
    """Write what a `StreamsMetadataState` in the state of the fixture answers, and what `murmur2` does."""
    _record("streams_partitioning", version, folder)


def _record(subject: str, version: str, folder: Path) -> None:
    document = read_cases(subject)
    answers = ask(MAIN, document, version)
    kinds = set()
    for case in document["cases"]:
        if answers[case["id"]] is not None:
            kinds.add(case["kind"])
            case.update(answers[case["id"]])
    write_cases(document, sorted(kinds), version, folder)
