"""StreamsGroupDescribe of version 1, which kio does not have: what it adds to version 0 (KIP-1331, KIP-1357).

Source: StreamsGroupDescribeRequest.json and StreamsGroupDescribeResponse.json of Kafka 4.4.0. kio reads the
types of the fields, so that this module leaves its annotations as they are.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.response_header.v1.header import ResponseHeader
from kio.schema.streams_group_describe.v0 import request as v0_request
from kio.schema.streams_group_describe.v0 import response as v0
from kio.schema.types import TopicName
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16

_TEXT, _INT8 = {"kafka_type": "string"}, {"kafka_type": "int8"}


class _Nested:
    __slots__ = ()
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(89)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(_Nested):
    """A node; `node_type` is 1 for a source, 2 for a processor, 3 for a sink."""

    name: str = field(metadata=_TEXT)
    node_type: i8 = field(metadata=_INT8)
    source_topics: tuple[TopicName, ...] = field(metadata=_TEXT, default=())
    sink_topic: TopicName | None = field(metadata=_TEXT, default=None)
    stores: tuple[str, ...] = field(metadata=_TEXT, default=())
    successors: tuple[str, ...] = field(metadata=_TEXT, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesOfSubtopology(_Nested):
    """A subtopology of a description."""

    subtopology_id: str = field(metadata=_TEXT)
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalStore(_Nested):
    """The two nodes of a global store."""

    source: Node
    processor: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyDescription(_Nested):
    """All of a topology."""

    subtopologies: tuple[NodesOfSubtopology, ...]
    global_stores: tuple[GlobalStore, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup(v0.DescribedGroup):
    """A group; the status is 0 not requested, 1 not stored, 2 error, 3 available."""

    topology_description: TopologyDescription | None = field(default=None)
    topology_description_status: i8 = field(metadata=_INT8, default=i8(0))
    assignor_name: str | None = field(metadata=_TEXT, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupDescribeResponse(v0.StreamsGroupDescribeResponse):
    """The answer; of a broker that offers version 0 only, its groups are those of that version."""

    __version__: ClassVar[i16] = i16(1)
    groups: tuple[DescribedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupDescribeRequest(v0_request.StreamsGroupDescribeRequest):
    """The request; in version 0 the last field is left out."""

    __version__: ClassVar[i16] = i16(1)
    include_topology_description: bool = field(metadata={"kafka_type": "bool"})


VERSION_1 = (StreamsGroupDescribeRequest, StreamsGroupDescribeResponse)
