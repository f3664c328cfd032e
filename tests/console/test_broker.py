"""How Redis is reached, and that its password is shown nowhere."""

import socket
from urllib.parse import quote

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.views.debug import get_default_exception_reporter_filter
from kombu import Connection

from console.broker import celery_url, is_redis_there, own_redis_url, redis_folder


@pytest.mark.parametrize(
    "url",
    [
        "redis://redis.example.org:6379/0",
        "redis://:p%40ss@127.0.0.1/1",
        "rediss://user:p@redis.example.org:6380/0?ssl_cert_reqs=required",
        "redis+socket:///run/redis.sock?virtual_host=1",
        "sentinel://10.0.0.1:26379;sentinel://10.0.0.2:26379",
    ],
)
def test_an_url_of_ones_own_stays_as_it_is(url):
    assert celery_url(url) == url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock"),
        ("unix:///run/redis.sock?db=3", "redis+socket:///run/redis.sock?virtual_host=3"),
        ("unix://:p@/run/redis.sock", "redis+socket://:p@/run/redis.sock"),
        ("unix://me@/r.sock?db=1&password=a%40b", "redis+socket://me:a%40b@/r.sock?virtual_host=1"),
        ("unix:///r.sock?password=a", "redis+socket://:a@/r.sock"),
    ],
)
def test_a_socket_is_told_to_celery_in_its_own_words(url, expected):
    assert celery_url(url) == expected


def test_our_own_redis_is_a_socket_in_the_home(tmp_path):
    assert own_redis_url(tmp_path) == f"redis+socket://{tmp_path}/redis/redis.sock"


def test_a_folder_that_cannot_be_made_is_said_with_what_to_do(tmp_path):
    (tmp_path / "redis").touch()
    with pytest.raises(ImproperlyConfigured, match=r"redis cannot be made .*REDIS_URL"):
        redis_folder(tmp_path)


@pytest.mark.parametrize(
    "url",
    ["redis://:geheim@127.0.0.1/0", "rediss://a:geheim@h/0", "unix:///r.sock?password=geheim"],
)
def test_what_a_worker_logs_of_its_redis_has_no_password(url):
    shown = Connection(celery_url(url))
    assert "geheim" not in shown.as_uri() + repr(shown)


def test_djangos_page_about_an_error_hides_addresses_with_passwords(settings):
    settings.REDIS_URL = "redis://:geheim@redis.example.org/0"
    settings.DATABASE_URL = "postgresql://crosslog:geheim@db.example.org/crosslog"
    shown = get_default_exception_reporter_filter().get_safe_settings()
    assert "geheim" not in f"{shown['REDIS_URL']} {shown['DATABASE_URL']}"
    assert shown["LOG_FORMAT"] == settings.LOG_FORMAT


def test_a_redis_at_a_port_is_there_as_long_as_it_listens():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        url = f"redis://:secret@127.0.0.1:{server.getsockname()[1]}/0"
        assert not is_redis_there(url)
        server.listen()
        assert is_redis_there(url)


def test_a_redis_at_a_socket_is_there_as_long_as_it_listens(tmp_path):
    path = tmp_path / "a b.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        url = celery_url(f"unix://{quote(str(path))}")
        assert not is_redis_there(url)
        server.listen()
        assert is_redis_there(url)


def test_whether_several_redises_are_there_cannot_be_told():
    assert is_redis_there("sentinel://10.0.0.1:26379;sentinel://10.0.0.2:26379")
