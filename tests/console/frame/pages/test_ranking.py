import pytest

from console.frame.pages.search import SearchHit, pages_of, rank, words_of


def hit(label, kind="topic", detail="", path="/", also=""):
    return SearchHit(kind, label, path, detail, also)


def labels(hits, text, at=""):
    return [one.label for one in rank(hits, words_of(text), at)]


def test_exact_comes_before_prefix_before_word_start_before_inside():
    hits = [hit("reorders"), hit("east.orders"), hit("orders-audit"), hit("orders")]
    assert labels(hits, "orders") == ["orders", "orders-audit", "east.orders", "reorders"]


def test_what_fits_only_by_its_detail_comes_last():
    hits = [hit("clicks", detail="orders to west"), hit("reorders")]
    assert labels(hits, "orders") == ["reorders", "clicks"]


@pytest.mark.parametrize("text", ["orders east", "east orders", "topic ORDERS", "ord ea top"])
def test_all_words_have_to_fit_in_any_order_over_label_kind_and_detail(text):
    hits = [hit("orders", detail="west", kind="group"), hit("orders", detail="east")]
    assert [one.detail for one in rank(hits, words_of(text))] == ["east"]


def test_a_phrase_that_is_the_label_comes_before_its_words():
    hits = [hit("3 broker"), hit("broker 30"), hit("broker 3")]
    assert labels(hits, "broker 3") == ["broker 3", "broker 30", "3 broker"]


def test_a_shorter_label_comes_first_among_equals():
    assert labels([hit("orders-dlq-old"), hit("orders-dlq")], "ord") == [
        "orders-dlq",
        "orders-dlq-old",
    ]


def test_pages_of_the_cluster_in_view_come_first():
    hits = [hit("Brokers", path=f"/clusters/{alias}/brokers/") for alias in ("east", "west")]
    (first, _) = rank(hits, ["brokers"], "/quorum/west/")
    assert first.path == "/clusters/west/brokers/"


@pytest.mark.parametrize("word", ["what-if", "simulation"])
def test_further_words_find_a_page(word):
    assert labels([hit("Simulate failure", also="what-if simulation")], word) == [
        "Simulate failure"
    ]


def test_a_page_of_a_subject_is_found_by_tab_subject_kind_and_address():
    tabs = [
        {"label": "Overview", "href": "/quorum/east/"},
        {"label": "Voter history", "href": "/quorum/east/voters/"},
    ]
    for words in (["voters"], ["history", "east"], ["quorum", "voter"]):
        (page,) = pages_of(words, "quorum", "east", tabs)
        assert (page.label, page.detail) == ("Voter history", "east")


def test_the_first_tab_is_the_subject_itself():
    tabs = [{"label": "Overview", "href": "/quorum/east/"}]
    (page,) = pages_of(["east"], "quorum", "east", tabs)
    assert (page.label, page.detail) == ("east", "")
