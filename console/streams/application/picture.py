"""The picture of an application's topology: of its description, else of what the group shows."""

from __future__ import annotations

from dataclasses import dataclass

from console.streams.snapshots import Picture
from console.streams.topology.drawing import TopologyDrawing, draw
from jobs.streams.assembly import fitting
from jobs.streams.topology.graph import (
    SubtopologyShape,
    graph_of_description,
    graph_of_subtopologies,
    shapes_of,
)
from jobs.streams.topology.layout import TooLargeToDraw

DESCRIBED = "from the pasted description"
UNUSED = "the pasted description is not that of what runs"
COARSE = "subtopologies only: paste Topology#describe() for processors and stores"


@dataclass(frozen=True, slots=True)
class TopologyPicture:
    """A drawing and where it is from; without a drawing `note` says why."""

    drawing: TopologyDrawing | None
    note: str


def topology_of(picture: Picture) -> TopologyPicture:
    """Draw the topology; one that is too large is drawn by subtopologies, or not at all."""
    application = picture.application
    fit = picture.fit
    if picture.description is not None and not fit.problems:
        described, _ = fitting(application, picture.facts, picture.description)
        try:
            return TopologyPicture(draw(graph_of_description(described)), DESCRIBED)
        except TooLargeToDraw:
            shapes = shapes_of(described)
            note = f"{DESCRIBED}; too large for single processors"
    else:
        note = f"{UNUSED}: subtopologies as they run" if fit.problems else COARSE
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
