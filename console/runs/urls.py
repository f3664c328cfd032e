"""Addresses of the runs room."""

from django.urls import path

from console.runs import pages
from console.runs.analyses import pages as analyses
from console.runs.engines import pages as engines

app_name = "runs"
urlpatterns = [
    path("runs/", pages.list_page, name="list"),
    path("runs/new/", analyses.kinds_page, name="new"),
    path("runs/new/<slug:kind>/", analyses.ask_page, name="new-analysis"),
    path("runs/engines/", engines.list_page, name="engines"),
    path("runs/engines/<slug:name>/", engines.detail_page, name="engine"),
    path("runs/engines/<slug:name>/roll/", engines.roll, name="roll-engine"),
    path("runs/<uuid:run_id>/", pages.detail_page, name="detail"),
    path("runs/<uuid:run_id>/cancel/", pages.cancel, name="cancel"),
    path("runs/<uuid:run_id>/tables/<slug:table>/csv/", analyses.csv_page, name="csv"),
    path("runs/<uuid:run_id>/tables/<slug:table>/parquet/", analyses.parquet_page, name="parquet"),
]
