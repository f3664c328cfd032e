"""`crosslog lab`: the lab from a shell."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from jobs.lab import control
from jobs.lab.daemon import LabDaemon
from jobs.lab.errors import LabError
from jobs.lab.install.preparation import kafka_jvm
from jobs.lab.install.releases import KAFKA_VERSION, VERSIONS
from jobs.lab.lab import Lab, read_plans, stopped_status, wipe
from jobs.lab.plan import ALIASES, DEFAULT_BASE_PORT, ClusterPlan, standard_plans

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  no public name
_START_S = 400.0
_LOOK_S = 0.1
FOR_THIS_USER_ONLY = 0o077
_NODE_ORDERS = {
    "kill": "kill a node at once (SIGKILL)",
    "stop-node": "stop a node in order",
    "start-node": "start a stopped or killed node and wait until it serves",
    "pause": "freeze a node: it answers nothing and keeps its connections",
    "resume": "resume a frozen node",
}


def lab(parser: argparse.ArgumentParser) -> None:
    """Real Apache Kafka clusters on this machine: east (3 nodes) and west (1 or 3)."""
    orders = parser.add_subparsers(title="lab commands", metavar="COMMAND", required=True)
    _add_start(orders)
    _add(orders, "stop", "stop the lab, keep its data", stop)
    _add(orders, "status", "show clusters and nodes; exit code 1 when something is down", status)
    for name, text in _NODE_ORDERS.items():
        _add(orders, name, text, order).add_argument("subject", metavar="NODE", help="e.g. east-1")
    text = "restart a node with another version of Kafka: a step of a rolling upgrade"
    upgrading = _add(orders, "upgrade-node", text, upgrade_node)
    upgrading.add_argument("subject", metavar="NODE", help="e.g. east-1")
    upgrading.add_argument("--kafka", required=True, choices=VERSIONS, help="the version")
    adding = _add(orders, "add-controller", "add a controller to a cluster's quorum", order)
    adding.add_argument("subject", metavar="CLUSTER", help="e.g. east")
    text = "start a MirrorMaker 2 from east to west, for topics of its own (mirrored-...)"
    _add(orders, "start-mirror-maker", text, plain_order)
    text = "start a Kafka Streams application of two instances on east (shop-totals)"
    _add(orders, "start-streams", text, plain_order)
    _add(orders, "wipe", "stop the lab and delete its data", wipe_lab)
    text = "fetch Kafka into the cache folder and start nothing"
    fetching = _add(orders, "fetch", text, fetch)
    fetching.add_argument(
        "--kafka", choices=VERSIONS, default=KAFKA_VERSION, help=f"default: {KAFKA_VERSION}"
    )
    _add_traffic(orders)


def start(arguments: argparse.Namespace) -> dict[str, Any]:
    """Start a lab in the background, or keep it in the foreground until Ctrl-C."""
    # A lab may be the first to make the home, where the console keeps its database and its keys.
    os.umask(FOR_THIS_USER_ONLY)
    root = folder(arguments)
    plans = wanted_plans(arguments, root)
    lab = Lab(root, plans)
    if arguments.foreground:
        LabDaemon(lab).run(
            _say, with_traffic=arguments.traffic, with_mirror_maker=arguments.mirror_maker
        )
        return stopped_status(lab.root)
    if control.is_daemon_running(lab.root):
        raise LabError(f"The lab in {lab.root} is running already.")
    for cluster in lab.clusters.values():
        cluster.check_ports()
    also = ["--traffic"] if arguments.traffic else []
    also += ["--mirror-maker"] if arguments.mirror_maker else []
    _start_keeper(lab.root, lab.plans, also)
    return control.ask(lab.root, "status")


def stop(arguments: argparse.Namespace) -> dict[str, Any]:
    """Stop the lab and wait until its daemon has ended; stopping a stopped lab is fine."""
    root = folder(arguments)
    try:
        keeper = control.ask(root, "status")["keeper"]
        control.ask(root, "stop")
    except control.DaemonNotRunning:
        return stopped_status(root)
    _wait_until_ended(keeper, root)
    return stopped_status(root)


def status(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the lab looks like."""
    root = folder(arguments)
    try:
        return control.ask(root, "status")
    except control.DaemonNotRunning:
        return stopped_status(root)


def order(arguments: argparse.Namespace) -> dict[str, Any]:
    """Give the daemon an order about one node or cluster."""
    return control.ask(folder(arguments), arguments.order, arguments.subject)


def upgrade_node(arguments: argparse.Namespace) -> dict[str, Any]:
    """Let the daemon restart a node with another version, which is fetched here, where that is shown."""
    kafka_jvm(arguments.kafka)
    return control.ask(folder(arguments), arguments.order, arguments.subject, arguments.kafka)


def plain_order(arguments: argparse.Namespace) -> dict[str, Any]:
    """Give the daemon an order about the lab as a whole."""
    return control.ask(folder(arguments), arguments.order)


def wipe_lab(arguments: argparse.Namespace) -> dict[str, Any]:
    """Stop the lab and delete its folder."""
    root = folder(arguments)
    if not read_plans(root):
        raise LabError(f"There is no lab in {root}: nothing was deleted.")
    stop(arguments)
    wipe(root)
    return stopped_status(root)


def fetch(arguments: argparse.Namespace) -> dict[str, Any]:
    """Fetch Kafka's jars and make the class archive, so that the first start is quick."""
    jvm = kafka_jvm(arguments.kafka)
    return {
        "kafka": jvm.release.version,
        "java": str(jvm.java.command),
        "java_major": jvm.java.major,
        "options": list(jvm.options),
    }


def traffic(arguments: argparse.Namespace) -> dict[str, Any]:
    """Write to and read from a cluster of the lab until Ctrl-C or SIGTERM."""
    from jobs.lab.traffic.writers import run_until_stopped

    root = folder(arguments)
    plans = {plan.alias: plan for plan in read_plans(root)}
    if arguments.cluster not in plans:
        raise LabError(f"There is no cluster {arguments.cluster} in {root}.")
    connection = plans[arguments.cluster].connection
    return run_until_stopped(
        connection,
        rate=arguments.rate,
        seed=arguments.seed,
        prefix=arguments.prefix,
        say=_say,
    )


def folder(arguments: argparse.Namespace) -> Path:
    """Return the lab's folder: the one that was given, else one of this name in the user's home."""
    if arguments.dir is not None:
        return Path(arguments.dir).resolve()
    home = os.environ.get("CROSSLOG_HOME") or Path.home() / ".local" / "share" / "crosslog"
    return Path(home) / "labs" / str(arguments.name)


def wanted_plans(arguments: argparse.Namespace, root: Path) -> list[ClusterPlan]:
    """Return the plans that the options ask for; none when an existing lab continues as it is."""
    names = ("base_port", "west_nodes", "kafka", "zookeeper", "tiered")
    if all(getattr(arguments, name) is None for name in names) and read_plans(root):
        return []
    base_port = DEFAULT_BASE_PORT if arguments.base_port is None else arguments.base_port
    versions: dict[str, str] = {}
    for alias, version in arguments.kafka or ():
        versions |= {alias: version} if alias else dict.fromkeys(ALIASES, version)
    return standard_plans(
        base_port,
        west_nodes=arguments.west_nodes or 1,
        versions=versions,
        zookeeper=frozenset(arguments.zookeeper or ()),
        tiered=frozenset(arguments.tiered or ()),
    )


def version_argument(text: str) -> tuple[str | None, str]:
    """Return `[CLUSTER=]VERSION` as a pair; raises what argparse shows."""
    alias, _, version = text.rpartition("=")
    if alias and alias not in ALIASES:
        raise argparse.ArgumentTypeError(f"there is no cluster {alias}: {', '.join(ALIASES)}")
    if version not in VERSIONS:
        raise argparse.ArgumentTypeError(f"{version!r} is none of {', '.join(VERSIONS)}")
    return alias or None, version


def _add(
    orders: Parsers, name: str, text: str, act: Callable[[argparse.Namespace], dict[str, Any]]
) -> argparse.ArgumentParser:
    parser = orders.add_parser(name, help=text, description=text.capitalize() + ".")
    parser.add_argument("--name", default="demo", help="which lab (default: demo)")
    parser.add_argument("--dir", metavar="D", help="the lab's folder, instead of --name")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run, act=act, order=name)
    return parser


def _add_start(orders: Parsers) -> None:
    parser = _add(orders, "start", "start the lab; its data of last time is used again", start)
    text = f"client port of east-1, west is 100 higher (default: {DEFAULT_BASE_PORT})"
    parser.add_argument("--base-port", type=int, metavar="N", help=text)
    parser.add_argument(
        "--kafka",
        type=version_argument,
        action="append",
        metavar="[CLUSTER=]VERSION",
        help=f"version of Kafka, of one cluster or both: {', '.join(VERSIONS)}; repeatable",
    )
    text = "this cluster has a ZooKeeper (before 3.3 every one has); repeatable"
    parser.add_argument("--zookeeper", choices=ALIASES, action="append", help=text)
    text = f"topics of this cluster may have tiered storage (Kafka {KAFKA_VERSION}); repeatable"
    parser.add_argument("--tiered", choices=ALIASES, action="append", help=text)
    parser.add_argument("--west-nodes", type=int, choices=(1, 3), help="nodes of west (default: 1)")
    parser.add_argument(
        "--traffic", action="store_true", help="also write and read records on east"
    )
    parser.add_argument(
        "--mirror-maker",
        action="store_true",
        help="also run a MirrorMaker 2 from east to west, for separate topics (mirrored-...)",
    )
    parser.add_argument(
        "--foreground", action="store_true", help="keep the lab here until Ctrl-C, in no background"
    )


def _add_traffic(orders: Parsers) -> None:
    parser = _add(orders, "traffic", "write and read records until Ctrl-C", traffic)
    parser.add_argument("--cluster", default="east", help="which cluster (default: east)")
    parser.add_argument(
        "--rate", type=float, default=200.0, help="records per second (default: 200)"
    )
    parser.add_argument("--seed", type=int, default=1, help="same seed, same records (default: 1)")
    parser.add_argument("--prefix", default="", help="before the names of topics and groups")


def run(arguments: argparse.Namespace) -> int:
    """Run a lab command; returns its exit code."""
    try:
        answer = arguments.act(arguments)
    except LabError as error:
        if arguments.json:
            _print({"error": str(error)})
        sys.stderr.write(f"crosslog lab: {error}\n")
        return error.exit_code
    if arguments.json:
        _print(answer)
    else:
        sys.stdout.write(as_text(answer))
    return 1 if arguments.order == "status" and not is_whole(answer) else 0


def is_whole(answer: dict[str, Any]) -> bool:
    """Return whether the lab runs and every node serves."""
    nodes = [node for cluster in answer["clusters"] for node in cluster["nodes"]]
    return bool(answer["is_running"]) and all(node["state"] == "serving" for node in nodes)


def as_text(answer: dict[str, Any]) -> str:
    if "clusters" not in answer:
        return "".join(f"{name}: {value}\n" for name, value in answer.items())
    lines = [f"lab {answer['dir']}: {'running' if answer['is_running'] else 'not running'}"]
    for cluster in answer["clusters"]:
        lines.append(
            f"{cluster['alias']}  {cluster['bootstrap_servers']}  Kafka {cluster['kafka']}"
        )
        for node in cluster["nodes"]:
            rack = node["rack"] or "-"
            name, state = f"{node['name']:10}", f"{node['state']:9}"
            own = node["kafka"] if node["kafka"] != cluster["kafka"] else ""
            pid = f"pid {node['pid'] or '-'} {own and f'Kafka {own}'}".rstrip()
            lines.append(f"  {name} {state} {node['address']:16} {rack:8} {pid}")
    if answer["is_running"]:
        lines.append(f"traffic: {'running' if answer['traffic'] else 'none'}")
        if answer.get("mirror_maker"):
            lines.append(f"MirrorMaker 2: pid {answer['mirror_maker']}")
        if answer.get("streams"):
            lines.append(f"Streams application: pids {', '.join(map(str, answer['streams']))}")
    return "\n".join(lines) + "\n"


def _start_keeper(root: Path, plans: list[ClusterPlan], also: list[str]) -> None:
    """Start the daemon in a session of its own and wait until it takes orders."""
    root.mkdir(parents=True, exist_ok=True)
    log = root / control.DAEMON_LOG
    command = [sys.executable, "-m", "jobs.lab", "lab", "start", "--foreground", "--dir", str(root)]
    if not read_plans(root):
        command += ["--base-port", str(plans[0].base_port), "--west-nodes", str(plans[1].nodes)]
        command += [f"--kafka={plan.alias}={plan.kafka}" for plan in plans]
        command += [f"--zookeeper={plan.alias}" for plan in plans if plan.zookeeper]
        command += [f"--tiered={plan.alias}" for plan in plans if plan.tiered]
    command += also
    with log.open("w") as output:
        keeper = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        _follow(keeper, root, log)
    except BaseException:
        keeper.terminate()
        raise


def _follow(keeper: subprocess.Popen[bytes], root: Path, log: Path) -> None:
    """Show the daemon's lines until it takes orders; raises when it ends before that."""
    end = time.monotonic() + _START_S
    with log.open(encoding="utf-8") as lines:
        while not control.is_daemon_running(root):
            sys.stderr.write(lines.read())
            if keeper.poll() is not None:
                raise LabError(
                    f"The lab did not start: {log.read_text(encoding='utf-8').strip()[-800:]}"
                )
            if time.monotonic() > end:
                raise LabError(f"The lab did not start within {_START_S:.0f} s: see {log}.")
            time.sleep(_LOOK_S)
        sys.stderr.write(lines.read())


def _wait_until_ended(pid: int, root: Path) -> None:
    end = time.monotonic() + control.ANSWER_S
    while control.is_locked(root):
        if time.monotonic() > end:
            raise LabError(
                f"The keeper of {root} (process {pid}) does not end: kill -9 {pid} ends it."
            )
        time.sleep(_LOOK_S)


def _print(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")


def _say(text: str) -> None:
    sys.stderr.write(f"lab: {text}\n")
    sys.stderr.flush()
