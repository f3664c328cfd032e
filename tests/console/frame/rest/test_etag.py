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


@pytest.fixture
def writer(sign_in, admin):
    flow = make_flow(lag=5)
    return sign_in(admin), f"{FLOWS}{flow.pk}/"


def change(client, url, **headers):
    return client.patch(url, {"tasks": 3}, content_type="application/json", headers=headers)


def test_a_change_of_what_was_read_is_done(writer):
    client, url = writer
    answer = change(client, url, **{"If-Match": client.get(url)["ETag"]})
    assert answer.status_code == 200, answer.content
    assert client.get(url).json()["tasks"] == 3


@pytest.mark.parametrize(
    "tag", ['"other"', "W/{etag}", "{etag}-"], ids=["other", "weak", "malformed"]
)
@pytest.mark.parametrize("method", ["patch", "delete"])
def test_a_change_of_what_is_another_by_now_is_refused_and_not_done(writer, method, tag):
    client, url = writer
    before = client.get(url)
    answer = getattr(client, method)(
        url,
        {"tasks": 3},
        content_type="application/json",
        headers={"If-Match": tag.replace("{etag}", before["ETag"])},
    )
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    assert client.get(url).json() == before.json()


def test_the_second_of_two_changes_to_the_same_read_is_refused(writer):
    client, url = writer
    etag = client.get(url)["ETag"]
    answers = [change(client, url, **{"If-Match": etag}) for _ in range(2)]
    assert [one.status_code for one in answers] == [200, 412]


@pytest.mark.parametrize(
    "tag", ["*", '"other", {etag}'], ids=["whatever there is", "one of a list"]
)
def test_if_match_is_read_as_http_says(writer, tag):
    client, url = writer
    etag = client.get(url)["ETag"]
    assert change(client, url, **{"If-Match": tag.replace("{etag}", etag)}).status_code == 200


def test_what_is_not_there_is_not_found_whatever_is_expected(writer):
    client, _ = writer
    assert change(client, f"{FLOWS}99/", **{"If-Match": '"x"'}).status_code == 404


def test_if_match_needs_the_right_to_change_first(writer, sign_in, viewer):
    _, url = writer
    assert change(sign_in(viewer), url, **{"If-Match": '"x"'}).status_code == 403
