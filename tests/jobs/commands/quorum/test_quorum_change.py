"""What `crosslog quorum-change` prints, and with which code it ends."""

import json

import pytest

from jobs.cli import main
from tests.jobs.quorum.log_files import write_folder
from tests.jobs.quorum.voter_sets import Log, key_of, voters
from tests.support import REPORTED

THREE = voters(1, 2, 3)
REPORTED_VOTERS = REPORTED / "voters_that_share_an_endpoint"
DIRECTORY = "DFV_jw2OTNSJdDCXmgr-2A"


@pytest.fixture
def folder(tmp_path):
    log = Log(epoch=0).leader(1, [1, 2, 3]).kraft_version(1).voters(THREE).together(3).noop(3)
    return write_folder(tmp_path, log)


@pytest.fixture
def asked(folder, capsys):
    """Ask for a change of the voters 1, 2, 3; return code, output and errors."""

    def asked(*options, path=folder):
        return main(["quorum-change", str(path), *options]), *capsys.readouterr()

    return asked


def test_three_become_five_in_two_steps(asked):
    options = ("--add", f"4@c4:9093:{DIRECTORY}", "--add", "5@c5:9093", "--json")
    code, told, _ = asked(*options)
    plan = json.loads(told)
    assert code == 0
    assert [(step["action"], step["id"]) for step in plan["steps"]] == [("add", 4), ("add", 5)]
    assert plan["steps"][0]["directoryId"] == DIRECTORY
    assert plan["steps"][0]["command"].endswith(
        "--command-config controller-4.properties add-controller"
    )
    assert plan["after"]["failuresTolerated"] == 2


def test_a_removal_has_the_directory_of_the_log(asked):
    code, told, _ = asked("--remove", "3", "--bootstrap-server", "broker:9092")
    directory_id = key_of(THREE, 3).directory_id
    assert code == 0
    assert (
        "$ bin/kafka-metadata-quorum.sh --bootstrap-server broker:9092 remove-controller "
        f"--controller-id 3 --controller-directory-id {directory_id}"
    ) in told
    assert "2 voters after the change" in told


def test_a_disk_is_replaced_in_two_steps_with_what_to_do_between(asked):
    _, told, _ = asked("--replace", f"2:{DIRECTORY}", "--leader", "1")
    assert "1. Remove voter 2" in told
    assert f"2. Add voter 2 ({DIRECTORY})." in told
    assert "$ bin/kafka-storage.sh format" in told


def test_a_step_that_would_lose_the_majority_is_refused_with_1(asked):
    code, told, _ = asked("--remove", "1", "--dead", "2", "--json")
    plan = json.loads(told)
    assert code == 1
    assert (plan["possible"], plan["steps"]) == (False, [])
    assert plan["refusal"]["code"] == "loses_majority"
    code, told, _ = asked("--remove", "1", "--dead", "2")
    assert "refused:" in told


def test_a_layout_names_sites(asked):
    sites = [part for pair in ("1=a", "2=a", "3=b", "4=c") for part in ("--site", pair)]
    layout = ("--layout", "a=1", "--layout", "b=1", "--layout", "c=1", "--add", "4@c4:9093")
    code, told, _ = asked(*sites, *layout, "--json")
    plan = json.loads(told)
    assert code == 0
    assert [(step["action"], step["id"]) for step in plan["steps"]] == [("add", 4), ("remove", 2)]
    assert (plan["before"]["deadlySites"], plan["after"]["deadlySites"]) == (["a"], [])


def test_what_crosslog_voters_printed_is_taken_too(asked, folder, tmp_path, capsys):
    main(["voters", str(folder), "--json"])
    written = tmp_path / "voters.json"
    written.write_text(capsys.readouterr().out)
    code, told, _ = asked("--remove", "3", "--json", path=written)
    assert code == 0
    assert json.loads(told)["steps"][0]["directoryId"] == key_of(THREE, 3).directory_id


def test_a_document_tells_who_is_alive_and_who_observes(asked, tmp_path):
    written = tmp_path / "quorum.json"
    voters_ = [
        {
            "id": id_,
            "directoryId": DIRECTORY,
            "endpoints": [f"CONTROLLER://c{id_}:9093"],
            "alive": id_ < 3,
        }
        for id_ in (1, 2, 3)
    ]
    observers = [{"id": 4, "directoryId": DIRECTORY, "lag": 5}, {"id": 5, "lag": 99_999}]
    document = {"voters": voters_, "kraftVersion": 1, "leaderId": 1, "observers": observers}
    written.write_text(json.dumps(document))
    _, told, _ = asked("--remove", "3", "--add", "4", "--json", path=written)
    assert [step["id"] for step in json.loads(told)["steps"]] == [3, 4]
    code, told, _ = asked("--add", "5", "--json", path=written)
    assert (code, json.loads(told)["refusal"]["code"]) == (1, "not_caught_up")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--add", "four"), "ID@HOST:PORT"),
        (("--add", "4@host:99999"), "no port"),
        (("--remove", "x"), "a number"),
        (("--replace", "2:short"), "NEW_DIRECTORY_ID"),
        (("--dead", "9"), "no voter"),
        (("--site", "1"), "NAME=VALUE"),
        (("--layout", "a=1", "--remove", "1"), "omit --remove"),
    ],
)
def test_bad_options_end_with_2_and_say_why(asked, options, words):
    code, told, errors = asked(*options)
    assert (code, told) == (2, "")
    assert words in errors


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"[]",
        b"{}",
        b'{"voters": [{"id": -1}]}',
        b'{"voters": 7}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_a_file_that_is_no_description_ends_with_2(asked, tmp_path, content):
    written = tmp_path / "quorum.json"
    written.write_bytes(content)
    code, told, errors = asked("--remove", "1", path=written)
    assert (code, told) == (2, "")
    assert "quorum.json" in errors


def test_a_log_whose_voters_may_be_others_now_is_not_planned_with(asked, tmp_path):
    log = Log(epoch=0).leader(1, [1, 2, 3]).kraft_version(1).voters(THREE).missing(9).noop(3)
    code, told, errors = asked("--remove", "1", path=write_folder(tmp_path / "gap", log))
    assert (code, told) == (2, "")
    assert "may be others now" in errors


def test_a_file_that_is_not_there_ends_with_2(asked, tmp_path):
    assert asked("--remove", "1", path=tmp_path / "nothing")[0] == 2


@pytest.mark.parametrize(
    "change", [("--remove", "3"), ("--remove", "3", "--add", "4@localhost:9093")]
)
def test_endpoints_that_lead_nowhere_are_told_before_any_step(asked, change):
    code, told, _ = asked(*change, path=REPORTED_VOTERS / "voters.json")
    before, _, _ = told.partition("1. ")
    assert code == 0
    assert "Voter 1 has the endpoint CONTROLLER://0.0.0.0:9093" in before
    assert "requests reach one of them only" in before
    assert "KAFKA-20661" in before


def test_a_command_never_names_an_address_that_leads_nowhere(asked):
    _, told, _ = asked("--remove", "3", path=REPORTED_VOTERS / "voters.json")
    assert "--bootstrap-controller localhost:9093 remove-controller" in told


def test_a_voter_that_is_added_under_the_endpoint_of_another_is_told(asked):
    _, told, _ = asked("--add", "4@c1:9093", "--add", "5@c1:9093", "--json")
    cautions = json.loads(told)["cautions"]
    assert any("Voters 4, 5 have the endpoint CONTROLLER://c1:9093" in one for one in cautions)


def test_a_new_machine_under_the_address_of_a_removed_voter_is_no_fault(asked, tmp_path):
    path = tmp_path / "voters.json"
    voters_ = [
        {"id": one, "directoryId": DIRECTORY, "endpoints": [f"C://c{one}:9093"], "alive": one != 3}
        for one in (1, 2, 3)
    ]
    path.write_text(json.dumps({"voters": voters_}))
    _, told, _ = asked("--remove", "3", "--add", "4@c3:9093", "--json", path=path)
    assert json.loads(told)["cautions"] == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{}", id="the list alone"),
        pytest.param("CurrentVoters:          {}\n", id="its line"),
        pytest.param(
            "ClusterId:              x\nLeaderId:               2\nLeaderEpoch:            3\n"
            "HighWatermark:          9\nMaxFollowerLag:         0\nMaxFollowerLagTimeMs:   0\n"
            "CurrentVoters:          {}\nCurrentObservers:       []\n",
            id="the whole status",
        ),
        pytest.param("LeaderId: 2\r\nCurrentVoters: {}\r\n", id="with ends of lines of Windows"),
        pytest.param("  LeaderId: 2\n  CurrentVoters: {}\n", id="indented"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_kafka_metadata_quorum_prints_is_read_as_it_is(asked, tmp_path, text, encoding):
    path = tmp_path / "status.txt"
    listed = (REPORTED_VOTERS / "current_voters.json").read_text().strip()
    path.write_text(text.replace("{}", listed), encoding=encoding)
    code, told, _ = asked("--remove", "3", path=path)
    assert code == 0
    assert "--controller-id 3 --controller-directory-id i_2hGK_KT1ipl2q-Dm16Jg" in told
    assert "127.0.0.1:33593,127.0.0.1:33693" in told


def test_the_leader_of_a_printed_status_goes_last(asked, tmp_path):
    path = tmp_path / "status.txt"
    path.write_text(
        f"LeaderId: 3\nCurrentVoters: {(REPORTED_VOTERS / 'current_voters.json').read_text()}"
    )
    _, told, _ = asked("--remove", "3", path=path)
    assert "It is the leader: it resigns" in told


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"voterz": [1]}, "voterz: there is no such key; voters is meant"),
        (
            {"voters": [{"id": 1, "directory_ids": "x"}]},
            "voters[0].directory_ids: there is no such",
        ),
        ({"voters": [{"id": "one"}]}, "voters[0].id: must be a whole number from 0"),
        ({"voters": []}, "voters: must be a list of voters"),
        ({"voters": [{"id": 1, "endpoints": ["c1:9093"]}]}, "write NAME://HOST:PORT"),
        ([], "must be a list of voters"),
        (7, "must be an object"),
    ],
)
def test_a_document_that_does_not_say_who_votes_is_refused_at_its_place(
    asked, tmp_path, document, words
):
    path = tmp_path / "voters.json"
    path.write_text(json.dumps(document))
    code, told, said = asked("--remove", "3", path=path)
    assert (code, told) == (2, "")
    assert words in said


def test_names_are_read_in_the_case_of_other_tools(asked, tmp_path):
    path = tmp_path / "voters.json"
    voters_ = [{"id": one, "directory_id": DIRECTORY} for one in (1, 2, 3)]
    path.write_text(json.dumps({"voters": voters_, "leader_id": 1, "kraft_version": 1}))
    code, told, _ = asked("--remove", "3", path=path)
    assert code == 0
    assert f"--controller-directory-id {DIRECTORY}" in told
