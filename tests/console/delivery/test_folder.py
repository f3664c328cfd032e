import errno
import os

import pytest

from console.delivery import folder as folders
from console.delivery.models import DeliveryState
from console.delivery.outbox import deliver_due
from console.delivery.results import TryAgain
from console.reports.making import store
from console.reports.sending.contents import Contents
from jobs.reports.rendering.formats import Format
from tests.console.delivery.making import NOW, PDF, queue_one

pytestmark = pytest.mark.django_db


def sent(delivery):
    deliver_due(NOW)
    delivery.refresh_from_db()
    return delivery


def test_the_chosen_files_are_put_into_the_folder(folder):
    delivery = sent(queue_one("folder", "weekly/all", files={Format.PDF: PDF, Format.CSV: b"zip"}))
    mark = delivery.run_id.hex[:8]
    files = {path.name: path.read_bytes() for path in (folder / "weekly/all").iterdir()}
    assert files == {
        f"crosslog-availability-2026-11-16-{mark}.pdf": PDF,
        f"crosslog-availability-2026-11-16-{mark}.zip": b"zip",
    }
    assert delivery.state == DeliveryState.DELIVERED
    assert str(folder / "weekly/all") in delivery.sentence


def test_two_reports_of_the_same_days_replace_nothing(folder):
    sent(queue_one("folder", "weekly"))
    sent(queue_one("folder", "weekly"))
    assert len(list((folder / "weekly").iterdir())) == 2


def test_a_link_out_of_the_root_is_refused(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "weekly").symlink_to(outside)
    delivery = sent(queue_one("folder", "weekly/all"))
    assert delivery.state == DeliveryState.REFUSED
    assert "leads out of REPORT_FOLDER" in delivery.sentence
    assert list(outside.iterdir()) == []


def test_a_root_that_is_not_mounted_is_not_made(folder):
    folder.rmdir()
    delivery = sent(queue_one("folder", "weekly"))
    assert delivery.state == DeliveryState.PENDING
    assert "mount or make it" in delivery.sentence
    assert not folder.exists()


def place_file(path):
    path.write_text("a file")


def place_circle(path):
    path.symlink_to(path)


def place_circle_of_two(path):
    other = path.with_name("other")
    path.symlink_to(other)
    other.symlink_to(path)


@pytest.mark.parametrize("place", [place_file, place_circle, place_circle_of_two])
@pytest.mark.parametrize("address", ["weekly", "weekly/all"])
def test_what_is_in_the_place_of_the_folder_is_said(folder, place, address):
    place(folder / "weekly")
    delivery = sent(queue_one("folder", address))
    assert delivery.state == DeliveryState.PENDING
    assert f"{folder}/weekly" in delivery.sentence
    assert (
        "is a file, or a link to itself, where a folder is needed: move it away"
        in delivery.sentence
    )


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (place_file, "is no folder: move it away"),
        (place_circle, "a link to no folder, or to itself"),
    ],
)
def test_what_is_in_the_place_of_the_root_is_said(folder, place, sentence):
    folder.rmdir()
    place(folder)
    delivery = sent(queue_one("folder", "weekly"))
    assert delivery.state == DeliveryState.PENDING
    assert f"{folder} (REPORT_FOLDER)" in delivery.sentence
    assert sentence in delivery.sentence


def test_a_link_to_a_folder_below_the_root_is_followed(folder):
    (folder / "all").mkdir()
    (folder / "weekly").symlink_to("all")
    assert sent(queue_one("folder", "weekly")).state == DeliveryState.DELIVERED
    assert len(list((folder / "all").iterdir())) == 1


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(errno.ENOSPC, "is full: make room"), (errno.EACCES, "crosslog may not write to")],
    ids=["full disk", "no permission"],
)
def test_a_disk_that_takes_nothing_is_tried_again(folder, number, sentence):
    """Root writes everywhere and a disk is not filled for a test: the write itself says it."""

    def write(path, content):
        raise OSError(number, os.strerror(number))

    delivery = queue_one("folder", "weekly")
    with pytest.raises(TryAgain, match=sentence):
        folders.put(delivery.address, Contents(delivery.run).named_files(), write)
    assert list((folder / "weekly").iterdir()) == []


def test_a_report_whose_files_are_gone_is_given_up(folder):
    delivery = queue_one("folder", "weekly")
    store.remove_files(delivery.run)
    sent(delivery)
    assert (delivery.state, delivery.next_at) == (DeliveryState.GAVE_UP, None)
    assert "Make it again" in delivery.sentence


def test_of_the_chosen_formats_those_that_could_be_made_are_put_there(folder):
    sent(queue_one("folder", "weekly", files={Format.PDF: PDF}, formats=["pdf", "html"]))
    assert [path.suffix for path in (folder / "weekly").iterdir()] == [".pdf"]


def test_where_no_chosen_format_could_be_made_the_others_are_put_there(folder):
    delivery = sent(queue_one("folder", "weekly", files={Format.CSV: b"zip"}, formats=["pdf"]))
    assert delivery.state == DeliveryState.DELIVERED
    assert {path.suffix for path in (folder / "weekly").iterdir()} == {".json", ".zip"}
