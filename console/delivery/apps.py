"""The room of deliveries."""

from django.apps import AppConfig


class DeliveryConfig(AppConfig):
    name = "console.delivery"
    label = "delivery"
    verbose_name = "Deliveries"
