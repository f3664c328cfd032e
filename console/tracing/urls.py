"""Addresses of the room of events that move through topics."""

from django.urls import path

from console.frame.pages import addresses  # noqa: F401  it makes <kafka:...> known
from console.tracing.extractors import pages as extractors
from console.tracing.replays import pages as replays

app_name = "tracing"
_EXTRACTORS = "clusters/<slug:alias>/extractors/"
_RECORDS = "clusters/<slug:alias>/records/<kafka:topic>/<int:partition>/"
_REDRIVES = "clusters/<slug:alias>/redrives/"
_REDRIVE = f"{_REDRIVES}<uuid:redrive_id>/"
urlpatterns = [
    path(_REDRIVES, replays.list_page, name="redrives"),
    path(f"{_REDRIVES}new/<uuid:run_id>/", replays.new_page, name="new-redrive"),
    path(_REDRIVE, replays.detail_page, name="redrive"),
    path(f"{_REDRIVE}apply/", replays.apply, name="apply-redrive"),
    path(f"{_REDRIVE}stop/", replays.stop, name="stop-redrive"),
    path(_EXTRACTORS, extractors.list_page, name="extractors"),
    path(f"{_EXTRACTORS}new/", extractors.new_page, name="new-extractor"),
    path(f"{_EXTRACTORS}<int:extractor_id>/", extractors.extractor_page, name="extractor"),
    path(f"{_RECORDS}<int:offset>/", extractors.record_page, name="record"),
    path(f"{_EXTRACTORS}<int:extractor_id>/remove/", extractors.remove, name="remove-extractor"),
]
