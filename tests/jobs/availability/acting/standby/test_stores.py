"""The store in memory of the tests keeps the contract of the console's store."""

import pytest

from jobs.availability.acting.standby.promotions import StoreAway
from tests.jobs.availability.acting.memory_store import MemoryStore
from tests.jobs.availability.acting.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self):
        return MemoryStore()

    @pytest.fixture
    def other(self, store):
        return store

    @pytest.fixture
    def turn(self, store):
        return store.turn


def test_a_store_in_memory_that_is_away_says_so():
    store = MemoryStore()
    store.is_away = True
    with pytest.raises(StoreAway):
        store.read()
