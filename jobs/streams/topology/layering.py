"""The column of each node of a graph: every edge leads to the right, but for those that close a cycle."""

from __future__ import annotations

from collections.abc import Sequence

Pair = tuple[int, int]


def columns_of(count: int, pairs: Sequence[Pair]) -> tuple[list[int], list[Pair]]:
    """Return a column per node, from 0, and the pairs turned so that each leads to a higher column.

    `pairs` are nodes by index, none with itself. Nodes are as far left as what leads to them allows; those
    that feed at least as many as they are fed by are then moved to the right, beside what they feed.
    """
    forward = _without_cycles(count, pairs)
    following: list[list[int]] = [[] for _ in range(count)]
    leading = [0] * count
    for start, end in forward:
        following[start].append(end)
        leading[end] += 1
    order = _upstream_first(following, leading)
    columns = [0] * count
    for node in order:
        for after in following[node]:
            columns[after] = max(columns[after], columns[node] + 1)
    for node in reversed(order):
        if following[node] and len(following[node]) >= leading[node]:
            columns[node] = min(columns[after] for after in following[node]) - 1
    return columns, forward


def _without_cycles(count: int, pairs: Sequence[Pair]) -> list[Pair]:
    """Turn the pairs that lead back to a node on the way from which they are found, depth first."""
    following: list[list[int]] = [[] for _ in range(count)]
    for at, (start, _) in enumerate(pairs):
        following[start].append(at)
    turned = list(pairs)
    is_seen, is_on_way = [False] * count, [False] * count
    for root in range(count):
        if is_seen[root]:
            continue
        is_seen[root] = is_on_way[root] = True
        way = [(root, iter(following[root]))]
        while way:
            node, edges = way[-1]
            at = next(edges, -1)
            if at < 0:
                is_on_way[node] = False
                way.pop()
                continue
            end = pairs[at][1]
            if is_on_way[end]:
                turned[at] = (end, node)
            elif not is_seen[end]:
                is_seen[end] = is_on_way[end] = True
                way.append((end, iter(following[end])))
    return turned


def _upstream_first(following: list[list[int]], leading: list[int]) -> list[int]:
    waiting = list(leading)
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:
        for after in following[node]:
            waiting[after] -= 1
            if not waiting[after]:
                order.append(after)
    return order
