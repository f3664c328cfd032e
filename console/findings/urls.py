"""Addresses of the pages of findings and incidents."""

from django.urls import path

from console.findings import pages
from console.findings.incidents import pages as incidents

_INCIDENT = "incidents/<int:incident_id>/"
_ACTIONS = {
    "acknowledge": "acknowledge-incident",
    "silence": "silence-incident",
    "unsilence": "unsilence-incident",
    "owner": "set-incident-owner",
    "note": "set-incident-note",
}
app_name = "findings"
urlpatterns = [
    path("findings/", pages.list_page, name="list"),
    path("incidents/", incidents.list_page, name="incidents"),
    path(_INCIDENT, incidents.detail_page, name="incident"),
    *(
        path(f"{_INCIDENT}{word}/", incidents.change, {"name": word}, name=name)
        for word, name in _ACTIONS.items()
    ),
]
