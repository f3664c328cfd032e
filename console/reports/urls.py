"""Addresses of the reports room."""

from django.urls import path

from console.reports import pages

app_name = "reports"
urlpatterns = [
    path("reports/", pages.list_page, name="list"),
    path("reports/made/", pages.runs_page, name="runs"),
    path("reports/made/<uuid:run_id>/", pages.run_page, name="run"),
    path("reports/made/<uuid:run_id>/files/<slug:file_format>/", pages.file_page, name="file"),
    path("reports/made/<uuid:run_id>/charts/<int:number>.svg", pages.chart_page, name="chart"),
    path("reports/made/<uuid:run_id>/remove/", pages.remove, name="remove"),
    path("reports/new/", pages.kinds_page, name="kinds"),
    path("reports/new/<slug:report_kind>/", pages.new_page, name="new"),
    path("reports/<int:report_id>/", pages.detail_page, name="detail"),
    path("reports/<int:report_id>/settings/", pages.settings_page, name="settings"),
    path("reports/<int:report_id>/run/", pages.run_now, name="run-now"),
    path("reports/<int:report_id>/delete/", pages.delete, name="delete"),
]
