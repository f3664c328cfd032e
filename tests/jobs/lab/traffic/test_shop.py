import json
from collections import Counter

import pytest

from jobs.lab.traffic.fill import Filling, make_records
from jobs.lab.traffic.shop import HOT_CUSTOMER, SHARES, TOPICS, Shop
from jobs.lab.traffic.writers import GROUPS, ShopGroup


@pytest.mark.parametrize("topic", TOPICS)
def test_the_same_seed_makes_the_same_records(topic):
    one, two = Shop(5), Shop(5)
    assert [one.next(topic) for _ in range(50)] == [two.next(topic) for _ in range(50)]


def test_topics_do_not_disturb_each_other():
    alone, mixed = Shop(5), Shop(5)
    mixed.next("clicks")
    assert alone.next("orders") == mixed.next("orders")


def test_another_seed_makes_other_records():
    assert Shop(1).next("orders") != Shop(2).next("orders")


def test_clicks_have_no_key():
    assert Shop().next("clicks").key is None


def test_customers_are_deleted_now_and_then():
    shop = Shop()
    values = [shop.next("customers").value for _ in range(200)]
    assert 5 < values.count(None) < 50


def test_one_customer_has_two_of_five_orders_and_no_other_one_many():
    shop = Shop()
    counts = Counter(shop.next("orders").key for _ in range(5000))
    (hot, most), (_, second) = counts.most_common(2)
    assert (hot, second < 25) == (HOT_CUSTOMER, True)
    assert most / 5000 == pytest.approx(0.4, abs=0.03)


def test_some_orders_have_repeated_empty_and_absent_headers():
    shop = Shop()
    headers = [shop.next("orders").headers for _ in range(10)][-1]
    assert headers[-4:] == [("attempt", b"1"), ("attempt", b"2"), ("note", b""), ("coupon", None)]


def test_values_are_json():
    assert set(json.loads(Shop().next("payments").value)) == {"payment", "amount", "method"}


def test_the_shares_of_the_rate_add_up():
    assert sum(SHARES.values()) == pytest.approx(1)
    assert set(SHARES) == set(TOPICS)


@pytest.mark.parametrize(
    ("elapsed_s", "rests"),
    [
        pytest.param(0, False, id="reads-at-first"),
        pytest.param(29.9, False, id="still-reads"),
        pytest.param(30, True, id="then-rests"),
        pytest.param(89.9, True, id="rests-to-the-end-of-the-cycle"),
        pytest.param(90, False, id="reads-again"),
    ],
)
def test_a_group_with_a_cycle_rests_at_its_end(elapsed_s, rests):
    assert ShopGroup("analytics", "clicks", cycle_s=90, rest_s=60).rests(elapsed_s) is rests


def test_a_group_without_a_rest_never_rests():
    assert not any(ShopGroup("billing", "payments").rests(s / 10) for s in range(100))


def test_only_payments_need_committed_transactions():
    assert {group.topic for group in GROUPS if group.is_read_committed} == {"payments"}


def test_a_filling_covers_the_cases_that_a_copy_must_keep():
    records = make_records("t", Filling(200, partitions=3, first_timestamp_ms=1000))
    assert [r.partition for r in records[:4]] == [0, 1, 2, 0]
    assert any(r.key is None for r in records)
    assert any(r.value is None for r in records)
    assert [r.timestamp_ms for r in records[:2]] == [1000, 1001]
    assert records[0].headers == [("n", b"0"), ("n", b""), ("none", None)]
