"""Addresses of the schedule pages."""

from django.urls import path

from console.schedules import pages

app_name = "schedules"
urlpatterns = [
    path("schedules/", pages.list_page, name="list"),
    path("schedules/new/", pages.new_page, name="new"),
    path("schedules/preview/", pages.preview, name="preview"),
    path("schedules/<int:schedule_id>/", pages.detail_page, name="detail"),
    path("schedules/<int:schedule_id>/settings/", pages.settings_page, name="settings"),
    path("schedules/<int:schedule_id>/run/", pages.run_now, name="run"),
    path("schedules/<int:schedule_id>/enabled/", pages.set_enabled, name="set-enabled"),
    path("schedules/<int:schedule_id>/delete/", pages.delete, name="delete"),
]
