"""Addresses of the replication room."""

from django.urls import path

from console.frame.pages import addresses  # noqa: F401  it makes <kafka:...> known
from console.replication.checkpoints import pages as readiness_pages
from console.replication.control import pages as control_pages
from console.replication.failover import pages as failover_pages
from console.replication.findings import pages as finding_pages
from console.replication.flows import pages
from console.replication.mirror_config.pages import mirror_config_page
from console.replication.translation import pages as workbench_pages

app_name = "replication"
_FAILOVER = "replication/<int:flow_id>/failover/"
_PLAN = f"{_FAILOVER}<int:plan_id>/"
_RUN = f"{_PLAN}runs/<uuid:run_id>/"
urlpatterns = [
    path("replication/", pages.list_page, name="list"),
    path("replication/mirror-config/", mirror_config_page, name="mirror-config"),
    path("replication/new/", pages.new_page, name="new"),
    path("replication/preview/", pages.preview, name="preview"),
    path("replication/<int:flow_id>/", pages.detail_page, name="detail"),
    path("replication/<int:flow_id>/partitions/", pages.partitions_page, name="partitions"),
    path("replication/<int:flow_id>/findings/", finding_pages.findings_page, name="findings"),
    path(
        "replication/<int:flow_id>/checkpoints/",
        readiness_pages.checkpoints_page,
        name="checkpoints",
    ),
    path(
        "replication/<int:flow_id>/checkpoints/<kafka:group_id>/",
        readiness_pages.group_page,
        name="checkpoint-group",
    ),
    path("replication/<int:flow_id>/translate/", workbench_pages.translate_page, name="translate"),
    path("replication/<int:flow_id>/runs/", pages.runs_page, name="runs"),
    path("replication/<int:flow_id>/control/", control_pages.control_page, name="control"),
    path("replication/<int:flow_id>/pause/", control_pages.pause, name="pause"),
    path("replication/<int:flow_id>/resume/", control_pages.resume, name="resume"),
    path("replication/<int:flow_id>/control/restart/", control_pages.restart, name="restart"),
    path("replication/<int:flow_id>/settings/", pages.settings_page, name="settings"),
    path("replication/<int:flow_id>/start/", pages.start, name="start"),
    path("replication/<int:flow_id>/stop/", pages.stop, name="stop"),
    path("replication/<int:flow_id>/delete/", pages.delete, name="delete"),
    path("replication/<int:flow_id>/accept-topics/", pages.accept_topics, name="accept-topics"),
    path(_FAILOVER, failover_pages.list_page, name="failover"),
    path(
        f"{_FAILOVER}new/", failover_pages.new_page, {"direction": "failover"}, name="failover-new"
    ),
    path(
        "replication/<int:flow_id>/failback/new/",
        failover_pages.new_page,
        {"direction": "failback"},
        name="failback-new",
    ),
    path(_PLAN, failover_pages.plan_page, name="failover-plan"),
    path(f"{_PLAN}groups/<int:row_id>/", failover_pages.group_page, name="failover-group"),
    path(f"{_PLAN}commands/<slug:which>.csv", failover_pages.commands_csv, name="failover-csv"),
    path(f"{_PLAN}refresh/", failover_pages.refresh, name="failover-refresh"),
    path(f"{_PLAN}rehearse/", failover_pages.rehearse, name="failover-rehearse"),
    path(f"{_PLAN}apply/", failover_pages.apply, name="failover-apply"),
    path(f"{_PLAN}undo/", failover_pages.undo, name="failover-undo"),
    path(_RUN, failover_pages.run_page, name="failover-run"),
    path(f"{_RUN}report.<slug:form>", failover_pages.report, name="failover-report"),
]
