"""The room of Kafka Streams applications."""

from django.apps import AppConfig


class StreamsConfig(AppConfig):
    name = "console.streams"
    label = "streams"
    verbose_name = "Kafka Streams"
