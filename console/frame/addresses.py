"""What stands in the path of an address: names of Kafka's, whatever is in them."""

from __future__ import annotations

from django.urls import register_converter


class KafkaName:
    """A name as Kafka has it: a group id may hold slashes and line feeds, and any client chooses one."""

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        """Return the name."""
        return value

    def to_url(self, value: str) -> str:
        """Return what `reverse` quotes."""
        return value


register_converter(KafkaName, "kafka")
