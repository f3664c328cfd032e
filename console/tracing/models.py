"""All tables of the room: Django looks for them here, and each sub-room keeps its own."""

from console.tracing.extractors import models as extractors
from console.tracing.replays import models as replays

__all__ = ["extractors", "replays"]
