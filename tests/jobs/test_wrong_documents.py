"""Wrong documents in front of every reader: read, or refused in our own words, never by Python's."""

import copy
import json
import re

import pytest

from jobs.archives import BadArchive, load_manifest
from jobs.availability.designer.input import parse_requirements
from jobs.availability.designer.requirements import InvalidRequirements
from jobs.availability.placements.placement import InvalidPlacement, parse_placement
from jobs.availability.what_if.model.cluster import ClusterModel, InvalidCluster
from jobs.cli import main
from jobs.cluster.connection import Connection
from jobs.cluster.errors import InvalidFields
from jobs.commands.replication.failover_file import BadUndoFile, UndoFile
from jobs.json_text import BadJson, parse_json
from jobs.quorum.advisor.input import state_from_text
from jobs.quorum.voters.voter_sets import VoterSet
from jobs.replication.failover.reports.signing import BadReport, verify
from jobs.replication.flow.file import parse_flow
from jobs.replication.mirror_config.read.configuration import read_file
from jobs.replication.mirror_config.read.text_input import BadInput, InputFile
from jobs.replication.offset_syncs.dump import BadDump, read_dump
from jobs.replication.translation.questions import Questions, parse_questions
from jobs.streams.collection.capture import BadCapture, read_capture
from jobs.streams.topology.reading import DescriptionError, read_description
from tests.support import REPORTED

# What Python says, and never a person.
PYTHON = re.compile(
    r"\b\w+(Error|Exception)\b|NoneType|object (has no|is not|of type)|not subscriptable|unhashable|\barg is "
    r"an empty|invalid literal|could not convert|values to unpack|Expecting |Extra data|must be (str|int)|"
    r"codec can't|positional argument|keyword argument|indices must be|out of range|Traceback|'(int|str|"
    r"list|dict|float|bool)'|non-hexadecimal|Exceeds the limit|is not iterable"
)
WRONG_VALUES = [None, True, -1, 1.5, 10**30, "", "x", [], {}, [[]], {"x": None}]
WRONG_TEXTS = {
    "nothing": b"",
    "a blank": b" ",
    "no text": b"\xff\xfe\xfa",
    "null": b"null",
    "a number": b"1",
    "a text": b'"x"',
    "an empty list": b"[]",
    "an empty object": b"{}",
    "a list of lists": b"[[1], [2]]",
    "cut off": b'{"voters": [{"id": 1',
    "Python": b"{'voters': None}",
    "NaN": b'{"voters": NaN}',
    "nested deeply": b"[" * 50_000,
    "many digits": b'{"voters": ' + b"9" * 6_000 + b"}",
    "half a pair": b'{"voters": "\\ud800"}',
    "a key twice": b'{"voters": 1, "voters": 2}',
    "YAML": b"voters:\n  - {id: 1\n",
    "a date that does not exist": b"name: 2026-13-45\n",
    "properties": b"a = b\n",
    "XML": b"<a/>",
    "arrows": b"--> \n<-- \nTopologies:\n",
    "a list as a key": b"1: 2\n? [a]\n: b\n",
    "a table that is none": b'topic,partition,offset\norders,x,y\n"orders,1\n',
    "Parquet cut off": b"PAR1\0\0\0PAR1",
    "a header of tar": b"a/../x" + bytes(506),
}


def through_json(read):
    return lambda content: read(parse_json(content))


def capture(content, folder):
    path = folder / "capture.json"
    path.write_bytes(content)
    return read_capture(path)


def undo(content, folder):
    path = folder / "undo.json"
    path.write_bytes(content)
    return UndoFile.read(path)


def manifest(content, folder):
    (folder / "manifest.json").write_bytes(content)
    return load_manifest(folder, 1, lambda values: tuple(values["clusters"]))


VOTERS = {
    "current": {
        "voters": [
            {"id": 1, "directoryId": "ZotqvJq6Q32hFFO48xxqaw", "alive": True,
             "endpoints": ["C://c1:9093", {"name": "C", "host": "c1", "port": 9093}]},
        ],
        "committed": True,
    },
    "kraftVersion": 1, "leaderId": 1, "observers": [{"id": 4, "lag": 0, "caughtUp": True}],
}  # fmt: skip
VOTERS_RECORD = {
    "voters": [
        {"voterId": 1, "voterDirectoryId": "ZotqvJq6Q32hFFO48xxqaw",
         "endpoints": [{"name": "C", "host": "c1", "port": 9093}],
         "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1}},
    ]
}  # fmt: skip
CLUSTER = {
    "brokers": [{"id": 1, "rack": "a"}, 2], "voters": [1, {"id": 2, "alive": True}],
    "configs": [{"resourceType": "BROKER", "resourceName": "", "name": "min.insync.replicas", "value": "2"}],
    "topics": [{"name": "orders", "placement": {"version": 1, "replicas": [{"count": 1}]},
                "partitions": [{"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1]}]}],
}  # fmt: skip
PLACEMENT = {
    "version": 2,
    "replicas": [{"count": 1, "constraints": {"rack": "a"}}],
    "observers": [{"count": 1, "constraints": {"rack": "b"}}],
    "observerPromotionPolicy": "under-min-isr",
}
WISH = {"sites": [{"name": "a", "brokers": [1, 2]}, {"name": "b", "brokers": [3]}], "rpo": "none"}
FLOW = {
    "name": "f",
    "source": {"alias": "a", "bootstrap_servers": "a:1"},
    "target": {"alias": "b", "bootstrap_servers": "b:1"},
    "topics": ["orders"],
}
CONNECTION = {"alias": "a", "bootstrap_servers": "a:1", "security_protocol": "PLAINTEXT"}
CONNECTOR = {
    "name": "a",
    "config": {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "topics": ".*",
    },
}
SYNC = {"partition": 0, "offset": 0, "timestamp": 0, "key_hex": "00", "value_hex": None}
QUESTIONS = [{"topic": "orders", "partition": 0, "offset": 42}]
UNDO = {
    "format": 1,
    "destination": "b",
    "before": {"g": [["t", 0, 1, ""]]},
    "written": {},
    "plan": {},
}
REPORT = {
    "report": {"format": 1, "id": "x"},
    "signature": {"algorithm": "Ed25519", "public_key": "x", "value": "x", "key_id": "x"},
}
DESCRIBE = """Topologies:
   Sub-topology: 0
    Source: S (topics: [farm.eggs])
      --> A
    Processor: A (stores: [totals])
      --> none
      <-- S
"""


def captured():
    """Return a real capture with one member, and a few of its topics and commits."""
    path = REPORTED / "streams_topics_of_different_sizes/capture.json"
    document = json.loads(path.read_text())
    document["describe_groups"]["members"] = document["describe_groups"]["members"][:1]
    for name in ("topics", "committed"):
        document[name] = dict(list(document[name].items())[:2])
    return document


# name -> (a document that is right, its reader, the errors that it may raise)
READERS = {
    "what-if": (CLUSTER, through_json(ClusterModel.from_json), (InvalidCluster,)),
    "placement": (PLACEMENT, lambda one: parse_placement(one.decode("latin-1")), (InvalidPlacement,)),
    "wish": (WISH, through_json(parse_requirements), (InvalidRequirements,)),
    "voters": (VOTERS, state_from_text, (ValueError,)),
    "voters record": (VOTERS_RECORD, through_json(VoterSet.from_voters_record), (ValueError,)),
    "flow": (FLOW, lambda one: parse_flow(one.decode("latin-1")), (InvalidFields,)),
    "connection": (
        CONNECTION,
        through_json(lambda one: Connection.from_mapping(one if isinstance(one, dict) else {})),
        (InvalidFields,),
    ),
    "connector": (CONNECTOR, lambda one: read_file(InputFile("a.json", one)), (BadInput,)),
    "mm2.properties": (CONNECTOR, lambda one: read_file(InputFile("mm2.properties", one)), (BadInput,)),
    "Strimzi": (CONNECTOR, lambda one: read_file(InputFile("a.yaml", one)), (BadInput,)),
    "dump": (SYNC, lambda one: read_dump([one.decode("latin-1")]), (BadDump,)),
    "questions": (QUESTIONS, lambda one: parse_questions(one.decode("latin-1")), ()),
    "report": (REPORT, through_json(verify), (BadReport,)),
    "description": (None, lambda one: read_description(one.decode("latin-1")), (DescriptionError,)),
}  # fmt: skip
FILES = {
    "capture": (captured(), capture, (BadCapture,)),
    "undo": (UNDO, undo, (BadUndoFile,)),
    "manifest": ({"version": 1, "clusters": ["a"]}, manifest, (BadArchive,)),
}


def said_of(read, content, errors):
    """Return what a reader says of a document, and of each question in it; empty where it is read."""
    try:
        found = read(content)
    except (*errors, BadJson) as error:
        return [str(error), *map(str, getattr(error, "problems", {}).values())]
    return [one.text for one in found.problems] if isinstance(found, Questions) else []


def places(value, path=()):
    """Yield the path of every value in a document."""
    if path:
        yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inner:
        yield from places(one, (*path, key))


def changed(document):
    """Yield the document with one value changed, left out, or under a name that is almost right."""
    for path in places(document):
        for wrong in (*WRONG_VALUES, "left out", "renamed"):
            copied = copy.deepcopy(document)
            inner = copied
            for key in path[:-1]:
                inner = inner[key]
            if wrong == "left out":
                inner.pop(path[-1])
            elif wrong == "renamed" and isinstance(inner, dict):
                inner[f"{path[-1]}s"] = inner.pop(path[-1])
            else:
                inner[path[-1]] = wrong
            yield copied


def python_in(sentences):
    return [one for one in sentences if not one.strip() or PYTHON.search(one)]


@pytest.mark.parametrize("text", WRONG_TEXTS)
@pytest.mark.parametrize("name", [*READERS, *FILES])
def test_a_text_that_is_no_document_is_told_in_our_words(name, text, tmp_path):
    _, read, errors = {**READERS, **FILES}[name]
    wanted = (lambda one: read(one, tmp_path)) if name in FILES else read
    assert python_in(said_of(wanted, WRONG_TEXTS[text], errors)) == []


@pytest.mark.parametrize("name", [name for name in [*READERS, *FILES] if name != "description"])
def test_a_document_with_a_wrong_value_is_told_in_our_words(name, tmp_path):
    document, read, errors = {**READERS, **FILES}[name]
    wanted = (lambda one: read(one, tmp_path)) if name in FILES else read
    said = [(one, said_of(wanted, json.dumps(one).encode(), errors)) for one in changed(document)]
    assert [(one, words) for one, words in said if python_in(words)] == []


def test_a_description_with_lines_left_out_cut_or_exchanged_is_told_in_our_words():
    lines = DESCRIBE.splitlines(keepends=True)
    wrong = [DESCRIBE[:at] for at in range(len(DESCRIBE))]
    wrong += ["".join(lines[:at] + lines[at + 1 :]) for at in range(len(lines))]
    wrong += [
        "".join([*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]])
        for at in range(len(lines) - 1)
    ]
    said = [(one, said_of(read_description, one, (DescriptionError,))) for one in wrong]
    assert [(one, words) for one, words in said if python_in(words)] == []


COMMANDS = {
    "streams": ("capture", ["--store", "totals", "--key", "k0"]),
    "what-if": ("what-if", ["--lose-broker", "1"]),
    "quorum-change": ("voters", ["--remove", "1"]),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_ends_with_a_sentence_for_a_wrong_value(command, tmp_path, capsys):
    name, options = COMMANDS[command]
    document = {**READERS, **FILES}[name][0]
    path = tmp_path / "document.json"
    strange = []
    for one in changed(document):
        path.write_text(json.dumps(one))
        code = main([command, str(path), *options])
        err = capsys.readouterr().err
        if code not in {0, 1, 2} or (code == 2 and python_in([err])):
            strange.append((one, code, err))
    assert strange == []
