"""The picture of an application's topology: of its description, else of what the group shows."""

from __future__ import annotations

from dataclasses import dataclass

from console.streams.snapshots import Picture
from console.streams.topology.drawing import TopologyDrawing, draw
from jobs.streams.topology.described import with_prefix
from jobs.streams.topology.graph import (
    SubtopologyShape,
    graph_of_description,
    graph_of_subtopologies,
    shapes_of,
)
from jobs.streams.topology.layout import TooLargeToDraw

DESCRIBED = "from the pasted description"
COARSE = "subtopologies only: paste Topology#describe() for processors and stores"


@dataclass(frozen=True, slots=True)
class TopologyPicture:
    """A drawing and where it is from; without a drawing `note` says why."""

    drawing: TopologyDrawing | None
    note: str


def topology_of(picture: Picture) -> TopologyPicture:
    """Draw the topology; one that is too large is drawn by subtopologies, or not at all."""
    application = picture.application
    if picture.description is not None:
        topics = picture.facts.topics.keys()
        described = with_prefix(picture.description, application.application_id, topics)
        try:
            return TopologyPicture(draw(graph_of_description(described)), DESCRIBED)
        except TooLargeToDraw:
            shapes = shapes_of(described)
            note = f"{DESCRIBED}; too large for single processors"
    else:
        note = COARSE
        shapes = {
            one.subtopology: SubtopologyShape(
                one.source_topics,
                one.sink_topics or (),
                tuple(store.name for store in application.stores_of(one.subtopology)),
            )
            for one in application.subtopologies.values()
        }
    try:
        return TopologyPicture(draw(graph_of_subtopologies(shapes)), note)
    except TooLargeToDraw as large:
        return TopologyPicture(None, str(large))
