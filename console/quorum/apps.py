"""The room of the quorum: voters, elections and the history that the metadata log tells."""

from django.apps import AppConfig


class QuorumConfig(AppConfig):
    name = "console.quorum"
    label = "quorum"
    verbose_name = "Quorum"
