import pytest

from tests.console.making import make_flow

pytestmark = pytest.mark.django_db
FLOWS = "/api/v1/flows/"


@pytest.fixture
def api(sign_in, viewer):
    make_flow(lag=5)
    return sign_in(viewer)


def test_an_unchanged_answer_is_not_sent_again(api):
    etag = api.get(FLOWS)["ETag"]
    again = api.get(FLOWS, headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", etag)


def test_a_changed_answer_is_sent_with_another_tag(api):
    etag = api.get(FLOWS)["ETag"]
    make_flow("another", target="north")
    again = api.get(FLOWS, headers={"If-None-Match": etag})
    assert again.status_code == 200
    assert again["ETag"] != etag


@pytest.mark.parametrize("header", ['"other"', "*", 'W/"other", {etag}', "W/{etag}"])
def test_if_none_match_is_read_as_http_says(api, header):
    etag = api.get(FLOWS)["ETag"]
    answer = api.get(FLOWS, headers={"If-None-Match": header.replace("{etag}", etag)})
    assert answer.status_code == (200 if header == '"other"' else 304)


def test_nobody_between_may_keep_an_answer(api):
    answer = api.get(FLOWS)
    assert {"private", "no-cache"} <= set(answer["Cache-Control"].split(", "))
    assert {"Authorization", "Cookie"} <= set(answer["Vary"].split(", "))


def test_an_error_has_no_tag(api):
    assert "ETag" not in api.get(f"{FLOWS}99/")


def test_a_head_has_the_tag_of_the_get(api):
    assert api.head(FLOWS)["ETag"] == api.get(FLOWS)["ETag"]
