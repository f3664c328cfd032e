"""Descriptions of topologies, as Kafka Streams prints them."""

from collections.abc import Sequence

# A stream joined with a table, an aggregate behind a repartition topic, and a global store.
ORDERS = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [orders])
      --> KSTREAM-KEY-SELECT-0000000001
    Processor: KSTREAM-KEY-SELECT-0000000001 (stores: [])
      --> by-customer-repartition-filter
      <-- KSTREAM-SOURCE-0000000000
    Processor: by-customer-repartition-filter (stores: [])
      --> by-customer-repartition-sink
      <-- KSTREAM-KEY-SELECT-0000000001
    Sink: by-customer-repartition-sink (topic: by-customer-repartition)
      <-- by-customer-repartition-filter

  Sub-topology: 1
    Source: by-customer-repartition-source (topics: [by-customer-repartition])
      --> KSTREAM-JOIN-0000000012, KSTREAM-AGGREGATE-0000000009
    Processor: KSTREAM-JOIN-0000000012 (stores: [customers])
      --> KSTREAM-SINK-0000000013
      <-- by-customer-repartition-source
    Source: KSTREAM-SOURCE-0000000010 (topics: [customers])
      --> KTABLE-SOURCE-0000000011
    Processor: KSTREAM-AGGREGATE-0000000009 (stores: [totals-by-customer])
      --> none
      <-- by-customer-repartition-source
    Sink: KSTREAM-SINK-0000000013 (topic: orders-enriched)
      <-- KSTREAM-JOIN-0000000012
    Processor: KTABLE-SOURCE-0000000011 (stores: [customers])
      --> none
      <-- KSTREAM-SOURCE-0000000010

  Sub-topology: 2 for global store (will not generate tasks)
    Source: KSTREAM-SOURCE-0000000018 (topics: [regions])
      --> KTABLE-SOURCE-0000000019
    Processor: KTABLE-SOURCE-0000000019 (stores: [regions])
      --> none
      <-- KSTREAM-SOURCE-0000000018
"""


def description(*lines: str) -> str:
    """Return a description of one subtopology, from its lines."""
    return "\n".join(["Topologies:", "Sub-topology: 0", *lines])


def chain(length: int, start: int = 0) -> Sequence[str]:
    """Return lines of a source and processors behind each other."""
    names = [f"node-{start + at}" for at in range(length)]
    lines = [f"Source: {names[0]} (topics: [in-{start}])", f"--> {names[1]}"]
    for at, name in enumerate(names[1:], start=1):
        after = names[at + 1] if at + 1 < length else "none"
        lines += [f"Processor: {name} (stores: [store-{start + at}])", f"--> {after}"]
    return lines


def wide_topology() -> str:
    """Return five subtopologies of eight nodes: a branch each, joined again, behind a repartition topic."""
    lines = ["Topologies:"]
    for number in range(5):
        one, read = f"s{number}", "orders" if number == 0 else f"part-{number - 1}-repartition"
        branches = [f"{one}-branch-{at}" for at in range(3)]
        lines += [f"Sub-topology: {number}", f"Source: {one}-source (topics: [{read}, side-{one}])"]
        lines += [f"--> {', '.join(branches)}"]
        for branch in branches:
            lines += [f"Processor: {branch} (stores: [{branch}-store])", f"--> {one}-merge"]
        lines += [f"Processor: {one}-merge (stores: [])", f"--> {one}-sink, {one}-out, {one}-retry"]
        lines += [f"Sink: {one}-sink (topic: part-{number}-repartition)"]
        lines += [f"Sink: {one}-out (topic: out-{one})", f"Sink: {one}-retry (topic: orders)"]
    return "\n".join(lines)


# Names that would do something where they are taken for more than text.
HOSTILE_NAMES = (
    "<script>alert(1)</script>",
    '"]; evil [URL="https://evil.example"',
    "<<b>bold</b>>",
    "\\N \\G \\n \\",
    "ends with a backslash\\",
    "&lt;b&gt; &amp; &#60;",
    "href=javascript:alert(1)",
    "<img src=x onerror=alert(1)>",
    "}; subgraph cluster_9 { label=evil",
    "\x1b[31mred\x07",
    "x" * 249,
    "注文" * 30,
)


def hostile_topology() -> str:
    """Return a chain of processors and stores with hostile names, fed by patterns of such names."""
    lines = ["Topologies:", 'Topology: "<b>mine</b>\\":', "Sub-topology: 0"]
    lines += ["Source: source (topics: <i>.*</i>\\)", f"--> {HOSTILE_NAMES[0]}"]
    for at, name in enumerate(HOSTILE_NAMES):
        after = HOSTILE_NAMES[at + 1] if at + 1 < len(HOSTILE_NAMES) else "none"
        lines += [f"Processor: {name} (stores: [{name}])", f"--> {after}"]
    return "\n".join(lines)
