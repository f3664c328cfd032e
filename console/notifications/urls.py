"""Addresses of notification routes and channels."""

from django.urls import path

from console.notifications import pages

app_name = "notifications"
urlpatterns = [
    path("notifications/", pages.routes_page, name="routes"),
    path("notifications/new/", pages.route_page, name="new-route"),
    path("notifications/<int:route_id>/", pages.route_page, name="route"),
    path("notifications/<int:route_id>/delete/", pages.delete_route, name="delete-route"),
    path("notifications/channels/", pages.channels_page, name="channels"),
    path(
        "notifications/channels/new/<slug:channel_kind>/",
        pages.new_channel_page,
        name="new-channel",
    ),
    path("notifications/channels/<int:channel_id>/", pages.channel_page, name="channel"),
    path("notifications/channels/<int:channel_id>/test/", pages.send_test, name="test-channel"),
    path(
        "notifications/channels/<int:channel_id>/delete/",
        pages.delete_channel,
        name="delete-channel",
    ),
]
