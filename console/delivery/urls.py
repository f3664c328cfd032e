"""Addresses of the room of deliveries."""

from django.urls import path

from console.delivery import pages

app_name = "delivery"
urlpatterns = [
    path("deliveries/", pages.delivery_page, name="list"),
    path("deliveries/test/", pages.send_test, name="test"),
    path("deliveries/<int:delivery_id>/retry/", pages.retry, name="retry"),
]
