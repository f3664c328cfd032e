"""Signing in and out."""

import pytest


def sign_in_with(client, name, password, **query):
    return client.post("/login/", {"username": name, "password": password}, query_params=query)


def test_the_right_password_leads_to_where_one_wanted_to_go(client, viewer):
    answer = sign_in_with(client, "vera", "a password of vera", next="/clusters/")
    assert (answer.status_code, answer["Location"]) == (302, "/clusters/")


def test_a_wrong_password_is_told_without_saying_what_was_wrong(client, viewer):
    answer = sign_in_with(client, "vera", "wrong")
    assert answer.status_code == 200
    assert "correct username and password" in answer.content.decode()


@pytest.mark.parametrize("there", ["https://evil.example/", "//evil.example/", "javascript:x"])
def test_signing_in_leads_nowhere_else(client, viewer, there):
    answer = sign_in_with(client, "vera", "a password of vera", next=there)
    assert answer["Location"] == "/"


def test_signing_out_needs_a_form_and_ends_the_session(client, viewer):
    client.force_login(viewer)
    assert client.get("/logout/")["Location"] == "/"
    assert client.get("/clusters/").status_code == 200
    client.post("/logout/")
    assert client.get("/clusters/").status_code == 302


def test_a_person_who_is_not_active_any_more_is_out(client, viewer):
    client.force_login(viewer)
    viewer.is_active = False
    viewer.save()
    assert client.get("/clusters/").status_code == 302


def test_the_api_takes_basic_authentication(client, viewer):
    import base64

    word = base64.b64encode(b"vera:a password of vera").decode()
    assert (
        client.get("/api/v1/clusters/", headers={"Authorization": f"Basic {word}"}).status_code
        == 200
    )
