"""A topology on a page: its picture, whole names, and the same as a list of edges."""

import re
from xml.etree import ElementTree as ET

import pytest
from django.template.loader import render_to_string

from console.streams.topology.drawing import draw
from jobs.streams.topology.graph import (
    SubtopologyShape,
    TopologyGraph,
    graph_of_description,
    graph_of_subtopologies,
)
from jobs.streams.topology.reading import read_description
from tests.jobs.streams.topology.descriptions import ORDERS, description


def page(graph):
    context = {"id": "topology", "title": "Topology", "drawing": draw(graph)}
    return render_to_string("streams/topology/graph.html", context)


@pytest.fixture(scope="module")
def orders():
    return page(graph_of_description(read_description(ORDERS)))


def test_the_picture_is_an_image_with_a_name_and_a_description(orders):
    picture = ET.fromstring(re.search(r"<svg.*?</svg>", orders, re.DOTALL).group())
    assert picture.get("role") == "img"
    assert picture.find("title").text == "Topology"
    assert picture.find("desc").text.startswith("20 nodes and 18 edges")


def test_every_box_and_line_has_its_whole_name(orders):
    assert "<title>KSTREAM-SINK-0000000013 (sink, Sub-topology 1)</title>" in orders
    assert (
        "<title>orders (topic) → KSTREAM-SOURCE-0000000000 (source, Sub-topology 0)</title>"
        in orders
    )
    assert ">KSTREAM-SINK-13</text>" in orders


def test_the_edges_are_a_table_below(orders):
    _, _, table = orders.partition("<details")
    assert table.count("<tr><td>") == 18
    assert "<td>customers (store, Sub-topology 1)</td>" in table


def test_lines_to_stores_have_no_arrow(orders):
    lines = re.findall(r'<path class="topology__line[^>]*>', orders)
    assert sum("topology__line--state" in line for line in lines) == 4
    assert all(("marker-end" in line) != ("--state" in line) for line in lines)


def test_the_picture_needs_no_inline_style(orders):
    assert not re.search(r"\sstyle=|<style|\son\w+=", orders)


def test_names_of_strangers_are_text():
    text = description("Source: <b>a</b> (topics: <i>.*)")
    html = page(graph_of_description(read_description(text)))
    assert "&lt;b&gt;a&lt;/b&gt;" in html
    assert not re.search(r"<[bi]>", html)


def test_a_subtopology_without_a_description_lists_its_stores():
    html = page(graph_of_subtopologies({"0": SubtopologyShape(("in",), (), ("totals", "seen"))}))
    assert "<title>Sub-topology 0 (subtopology): totals, seen</title>" in html
    assert ">totals</text>" in html


def test_nothing_to_draw_is_said():
    assert "No node is known." in page(TopologyGraph((), ()))
