"""What a broker offers: request versions and finalized features, and how it is asked for them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.api_versions.v3.response import ApiVersionsResponse

from jobs.cluster.protocol.transport.apis import API_VERSIONS, END_TXN, PRODUCE, SupportedApi
from jobs.cluster.protocol.transport.frames import Call
from jobs.version import VERSION

_ERROR = struct.Struct(">h")
_ERROR_AT = 4  # after the correlation id: this answer's header never has tagged fields
_TRANSACTION_FEATURE = "transaction.version"
_PROTOCOL_2 = 2


@dataclass(frozen=True, slots=True)
class BrokerVersions:
    """The answer of ApiVersions.

    `ranges` has the lowest and highest version per request number, `features` the finalized level of
    the cluster's features, `supported` the highest that this broker knows (KIP-584). `error` is Kafka's
    number when the broker refused to tell.
    """

    ranges: Mapping[int, tuple[int, int]]
    features: Mapping[str, int]
    error: int = 0
    supported: Mapping[str, int] = field(default_factory=dict)

    def best(self, speaks: SupportedApi, *, at_most: int | None = None) -> int | None:
        """Return the best version that both sides speak, None when there is none."""
        lowest, highest = self.ranges.get(speaks.key, (0, -1))
        if at_most is not None:
            highest = min(highest, at_most)
        return next((v for v in speaks.versions if lowest <= v <= highest), None)

    @property
    def supports_transactions_v2(self) -> bool:
        """Whether transactions need no AddPartitionsToTxn and get a new epoch each (KIP-890)."""
        offers = all(
            self.best(api.speaks) == api.speaks.versions[0]
            for api in (PRODUCE, END_TXN)  # their best versions are those of protocol 2
        )
        return offers and self.features.get(_TRANSACTION_FEATURE, 0) >= _PROTOCOL_2


def versions_call() -> Call[BrokerVersions]:
    """Return the question for a broker's versions (KIP-511: name and version of the client too)."""
    request = ApiVersionsRequest(client_software_name="crosslog", client_software_version=VERSION)
    call = API_VERSIONS.call(request, API_VERSIONS.speaks.versions[0])
    plain = call.decode

    def read(frame: memoryview, at: int) -> tuple[BrokerVersions, int]:
        error: int = _ERROR.unpack_from(frame, at + _ERROR_AT)[0]
        if error:
            # A broker that does not know this version answers in the form of version 0.
            return BrokerVersions({}, {}, error), len(frame)
        answer, end = plain(frame, at)
        return _versions(answer), end

    return Call(call.name, call.key, call.version, call.is_flexible, call.body, read)


def _versions(answer: ApiVersionsResponse) -> BrokerVersions:
    return BrokerVersions(
        {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys},
        {feature.name: feature.max_version_level for feature in answer.finalized_features},
        supported={feature.name: feature.max_version for feature in answer.supported_features},
    )
