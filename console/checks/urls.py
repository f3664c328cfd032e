"""Addresses of the catalogue, of settings and of maintenance windows."""

from django.urls import path

from console.checks import pages
from console.checks.objectives import pages as objectives

app_name = "checks"
urlpatterns = [
    path("checks/", pages.list_page, name="list"),
    path("checks/settings/", pages.settings_page, name="settings"),
    path("checks/settings/new/", pages.new_setting_page, name="new-setting"),
    path("checks/settings/<int:setting_id>/", pages.setting_page, name="setting"),
    path("checks/settings/<int:setting_id>/remove/", pages.remove_setting, name="remove-setting"),
    path("objectives/", objectives.objectives_page, name="objectives"),
    path("objectives/<int:objective_id>/", objectives.objectives_page, name="objective"),
    path(
        "objectives/<int:objective_id>/remove/",
        objectives.remove_objective,
        name="remove-objective",
    ),
    path("checks/maintenance/", pages.maintenance_page, name="maintenance"),
    path("checks/maintenance/new/", pages.new_window_page, name="new-window"),
    path("checks/maintenance/preview/", pages.preview_window, name="preview-window"),
    path("checks/maintenance/<int:window_id>/remove/", pages.remove_window, name="remove-window"),
]
