"""Stores in memory and in a folder keep the contract; a folder also outlives what happens to its files."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest

from jobs.availability.acting.standby.folder_store import EVENTS, STATE, FolderStore
from jobs.availability.acting.standby.promotions import PromotionEvent, StoreAway
from tests.jobs.availability.acting.memory_store import MemoryStore
from tests.jobs.availability.acting.store_contract import NOW_MS, ONE, StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self):
        return MemoryStore()

    @pytest.fixture
    def other(self, store):
        return store


class TestFolderStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return FolderStore(tmp_path / "promotions")

    @pytest.fixture
    def other(self, tmp_path):
        return FolderStore(tmp_path / "promotions")


@pytest.fixture
def folder(tmp_path):
    return FolderStore(tmp_path)


def test_events_of_a_folder_are_read_in_their_order(folder):
    events = [PromotionEvent(NOW_MS + n, "a", 4, "unfenced") for n in range(3)]
    for one in events:
        folder.record(one)
    assert folder.events() == events


def test_an_event_that_was_cut_off_is_left_out(folder):
    event = PromotionEvent(NOW_MS, "a", 4, "unfenced")
    folder.record(event)
    with (folder.folder / EVENTS).open("a") as file:
        file.write('{"at_ms": 17')
    assert folder.events() == [event]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}'])
def test_a_state_that_cannot_be_read_is_a_store_that_is_away(folder, content):
    folder.begin(ONE)
    (folder.folder / STATE).write_text(content)
    with pytest.raises(StoreAway):
        folder.read()
    with pytest.raises(StoreAway):
        folder.begin(replace(ONE, broker_id=9))


def test_a_folder_that_is_a_file_is_away(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(StoreAway, match="cannot be used"):
        FolderStore(tmp_path / "f").begin(ONE)


def test_a_folder_that_goes_away_is_not_made_again_and_is_known_when_it_is_back(tmp_path):
    store = FolderStore(tmp_path / "f")
    assert store.begin(ONE)
    store.folder.rename(tmp_path / "away")
    for ask in (store.read, lambda: store.take_lease("a", NOW_MS, 1)):
        with pytest.raises(StoreAway, match="cannot be used"):
            ask()
    assert not store.folder.exists()
    (tmp_path / "away").rename(store.folder)
    assert store.read().promotions == (ONE,)


def test_an_empty_folder_where_the_store_was_is_a_store_that_is_away(tmp_path):
    store = FolderStore(tmp_path / "f")
    assert store.begin(ONE)
    store.folder.rename(tmp_path / "away")
    store.folder.mkdir()
    for ask in (store.read, lambda: store.take_lease("a", NOW_MS, 1)):
        with pytest.raises(StoreAway, match="cannot be used"):
            ask()


def test_another_store_in_its_place_is_a_store_that_is_away(tmp_path):
    store = FolderStore(tmp_path / "f")
    assert store.begin(ONE)
    store.folder.rename(tmp_path / "away")
    assert FolderStore(tmp_path / "f").begin(replace(ONE, broker_id=9))
    with pytest.raises(StoreAway, match="holds another store"):
        store.read()
    assert FolderStore(tmp_path / "f").read().of_broker(9) is not None


def test_of_many_that_begin_at_once_one_does(tmp_path):
    def begin(number):
        while True:
            # One that waited too long for the lock asks again, as its callers do.
            with suppress(StoreAway):
                return FolderStore(tmp_path).begin(replace(ONE, promotion_id=f"p-{number}"))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(begin, range(24))) == 1


def test_a_store_in_memory_that_is_away_says_so():
    store = MemoryStore()
    store.is_away = True
    with pytest.raises(StoreAway):
        store.read()
