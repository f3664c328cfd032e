"""The Redis that crosslog starts itself: the real redis-server, and the real client of Celery."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from kombu import Connection
from redis import Redis, ResponseError

from console.broker import (
    LONGEST_ADDRESS,
    celery_url,
    is_listened_to,
    own_redis_url,
    redis_socket,
)
from console.celery import app
from console.frame.management.commands.up import start_redis
from console.frame.processes import programs
from console.frame.processes.supervisor import Program, StartFailed, Supervisor
from tests.support import tcp_ports_of
from tests.waiting import eventually

ROOT = Path(__file__).parents[4]
PUT = """
import sys
from console.celery import app
with app.connection_for_write() as connection:
    connection.ensure_connection(max_retries=1)
    connection.SimpleQueue("asked").put(sys.argv[1])
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="run on Linux, as the supervisor")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / "redis").mkdir()
    (home / "redis").chmod(0o755)  # as an earlier version made it
    return home


@pytest.fixture(scope="module")
def running(home):
    """A supervisor with a Redis that runs in the home."""
    supervisor = Supervisor(home / "logs", print)
    before = os.umask(0o022)
    try:
        start_redis(supervisor, home)
    finally:
        os.umask(before)
    yield supervisor
    supervisor.stop_all()


@pytest.fixture
def client(home, running):
    with Redis(unix_socket_path=redis_socket(home)) as client:
        yield client


@pytest.fixture
def supervisor(tmp_path):
    supervisor = Supervisor(tmp_path / "logs", print)
    yield supervisor
    supervisor.stop_all()


def test_it_listens_on_no_port(running):
    eventually(lambda: "unixsocket:" in command_of(running.pid("redis")))
    assert tcp_ports_of(running.pid("redis")) == []


def command_of(pid: int) -> str:
    """What a process shows of itself: Redis says there where it listens."""
    return Path(f"/proc/{pid}/cmdline").read_text("utf-8")


def test_only_its_user_may_open_the_socket_and_its_folder(home, client):
    client.ping()
    found = (home / "redis" / "redis.sock").stat()
    assert stat.S_ISSOCK(found.st_mode)
    assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o600, os.geteuid())
    assert stat.S_IMODE((home / "redis").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "command",
    [
        "CONFIG SET dir /tmp", "CONFIG GET dir", "MODULE LOAD /tmp/x.so", "DEBUG SLEEP 0", "SAVE",
        "BGSAVE", "BGREWRITEAOF", "REPLICAOF 127.0.0.1 1", "SLAVEOF 127.0.0.1 1", "FAILOVER", "SYNC",
        "PSYNC ? -1", "MIGRATE 127.0.0.1 1 key 0 1", "ACL SETUSER default off", "SHUTDOWN NOSAVE",
    ],
)  # fmt: skip
def test_it_knows_no_command_that_writes_files_or_takes_it_over(client, command):
    with pytest.raises(ResponseError, match="unknown command"):
        client.execute_command(*command.split())
    words = ", ".join(f"'{word}'" for word in command.split())
    with pytest.raises(ResponseError, match="Unknown Redis command"):
        client.eval(f"return redis.call({words})", 0)


def test_it_knows_what_celery_needs(home, running, client):
    with Connection(own_redis_url(home), transport_options=options()) as connection:
        queue = connection.SimpleQueue("work")
        queue.put({"task": 1})
        message = queue.get(timeout=10)
        message.ack()
        assert message.payload == {"task": 1}
    with client.lock("a lock of Celery's client is a script", timeout=5):
        pass


def options() -> dict:
    return dict(app.conf.broker_transport_options)


def test_the_options_of_a_broker_hold_for_a_socket_too(home, running):
    with Connection(own_redis_url(home), transport_options=options()) as connection:
        pool = connection.default_channel.client.connection_pool
        assert pool.connection_kwargs["socket_timeout"] == options()["socket_timeout"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("short", id="short"),
        pytest.param("a b;c%20d?e#f&gé@h", id="of all kinds of letters"),
        pytest.param("/".join(["a-long-path"] * 12), id="longer than a socket's address"),
    ],
)
def test_every_process_of_a_home_finds_it_whatever_the_homes_path(supervisor, tmp_path, name):
    home = tmp_path / name
    home.mkdir(parents=True)
    start_redis(supervisor, home)
    assert (home / "redis" / "redis.sock").is_socket()
    outside = {"DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "STATIC_ROOT"}
    clean = {name: value for name, value in os.environ.items() if name not in outside}
    subprocess.run(
        [sys.executable, "-c", PUT, "from another process"],
        cwd=ROOT, env={**clean, "CROSSLOG_HOME": str(home)}, check=True, timeout=120,
    )  # fmt: skip
    with Connection(own_redis_url(home)) as connection:
        assert connection.SimpleQueue("asked").get(timeout=10).payload == "from another process"


def test_an_address_is_never_longer_than_a_socket_allows(tmp_path):
    folder = tmp_path
    while len(str(folder)) < 2 * LONGEST_ADDRESS:
        assert len(redis_socket(folder).encode()) <= LONGEST_ADDRESS
        folder /= "0123456"


def test_what_a_killed_redis_left_behind_is_replaced(supervisor, tmp_path):
    path = tmp_path / "redis" / "redis.sock"
    path.parent.mkdir()
    with listener(path):
        pass
    assert path.is_socket()
    start_redis(supervisor, tmp_path)
    with Redis(unix_socket_path=str(path)) as client:
        assert client.ping()


def test_a_socket_at_which_another_program_lives_is_left_to_it(supervisor, tmp_path):
    path = tmp_path / "redis" / "redis.sock"
    path.parent.mkdir()
    with listener(path):
        before = path.stat().st_ino
        with pytest.raises(StartFailed, match=rf"Another program listens at {path}.*CROSSLOG_HOME"):
            start_redis(supervisor, tmp_path)
        assert path.stat().st_ino == before
        assert is_listened_to(str(path))


def test_a_program_that_is_too_busy_to_answer_still_has_its_socket(tmp_path):
    path = tmp_path / "redis.sock"
    with (
        listener(path),
        socket.socket(socket.AF_UNIX) as first,
        socket.socket(socket.AF_UNIX) as second,
    ):
        first.connect(str(path))  # the queue of the listener is full now
        second.setblocking(False)
        second.connect_ex(str(path))
        assert is_listened_to(str(path))


def listener(path: Path) -> socket.socket:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.bind(str(path))
    found.listen(0)
    return found


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("unix://{path}?db=2&password=p%40ss", id="as other clients write it"),
        pytest.param("unix://:p%40ss@{path}?db=2", id="likewise, with an account"),
        pytest.param("redis+socket://:p%40ss@{path}?virtual_host=2", id="as Celery writes it"),
    ],
)
def test_a_socket_of_ones_own_with_a_password_works(supervisor, tmp_path, url):
    path = tmp_path / "own.sock"
    command = [str(programs.redis_server()), "--port", "0", "--unixsocket", str(path)]
    supervisor.start(Program("own", (*command, "--requirepass", "p@ss", "--dir", str(tmp_path))))
    eventually(lambda: is_listened_to(str(path)))
    with Connection(celery_url(url.format(path=path)), transport_options=options()) as connection:
        connection.SimpleQueue("asked").put(1)
    with Redis(unix_socket_path=str(path), password="p@ss", db=2) as client:
        assert client.llen("asked") == 1
