"""Addresses of the pages of findings and incidents."""

from django.urls import path

from console.findings import pages
from console.findings.incidents import pages as incidents

_INCIDENT = "incidents/<int:incident_id>/"
app_name = "findings"
urlpatterns = [
    path("findings/", pages.list_page, name="list"),
    path("incidents/", incidents.list_page, name="incidents"),
    path(_INCIDENT, incidents.detail_page, name="incident"),
    path(f"{_INCIDENT}acknowledge/", incidents.acknowledge, name="acknowledge-incident"),
    path(f"{_INCIDENT}silence/", incidents.silence, name="silence-incident"),
    path(f"{_INCIDENT}unsilence/", incidents.unsilence, name="unsilence-incident"),
    path(f"{_INCIDENT}owner/", incidents.owner, name="set-incident-owner"),
    path(f"{_INCIDENT}note/", incidents.note, name="set-incident-note"),
]
