"""Tokens for OAUTHBEARER: asked for once while they are good, and every refusal with its reason."""

import json

import pytest

from jobs.cluster.errors import AuthenticationFailed, ClusterFault, Unreachable
from jobs.cluster.protocol.transport.security import TokenSource
from tests.token_server import CLIENT, SECRET, token_server


@pytest.fixture
def server():
    with token_server() as started:
        yield started


def source(server, *, secret=SECRET, scope="") -> TokenSource:
    return TokenSource("east", server.url, CLIENT, secret, scope)


async def fault_of(tokens: TokenSource) -> ClusterFault:
    with pytest.raises(ClusterFault) as caught:
        await tokens.token()
    assert SECRET not in str(caught.value) + repr(tokens)
    return caught.value


async def test_a_token_is_asked_for_once_while_it_is_good(server):
    tokens = source(server, scope="kafka")
    assert await tokens.token() == await tokens.token()
    assert server.asked == [{"grant_type": "client_credentials", "scope": "kafka"}]


async def test_a_token_that_is_over_is_followed_by_another(server):
    server.lifetime_s = 0
    tokens = source(server)
    for _ in range(2):
        await tokens.token()
    assert len(server.asked) == 2


async def test_a_client_that_the_server_does_not_know_is_told_with_its_words(server):
    fault = await fault_of(source(server, secret="wrong"))
    assert type(fault) is AuthenticationFailed
    assert "this client is not known" in fault.message
    assert fault.field == "sasl_password"


async def test_a_secret_is_not_sent_where_an_answer_leads(server):
    with token_server() as other:
        server.answer = (307, {"Location": other.url}, b"")
        assert type(await fault_of(source(server))) is AuthenticationFailed
        assert other.asked == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>", id="another kind of server"),
        pytest.param(json.dumps({"token_type": "Bearer"}).encode(), id="no token"),
        pytest.param(b"[]", id="a list"),
    ],
)
async def test_an_answer_without_a_token_is_a_refusal(server, body):
    server.answer = (200, {}, body)
    assert type(await fault_of(source(server))) is AuthenticationFailed


async def test_a_server_that_fails_is_not_a_refusal(server):
    server.answer = (503, {}, b"")
    assert "503" in (await fault_of(source(server))).message


async def test_an_endpoint_where_nothing_listens_is_named_at_its_field(server):
    tokens = TokenSource("east", "http://127.0.0.1:1/token", CLIENT, SECRET)
    fault = await fault_of(tokens)
    assert type(fault) is Unreachable
    assert fault.field == "sasl_oauthbearer_token_url"
