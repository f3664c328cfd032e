"""The pages of a flow lead to the analyses of its offset syncs, with the flow filled in."""

import pytest

from console.accounts.models import Role
from console.replication.flows.page_context import analyses_of
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.making import make_flow, make_run, make_user

pytestmark = pytest.mark.django_db
HREF = "/runs/new/backfill/?flow=orders+to+west"


@pytest.fixture
def flow():
    return make_flow()


def test_only_kinds_of_this_release_are_offered(flow):
    only = {"backfill": ANALYSES["backfill"]}
    assert analyses_of(flow, only) == [(ANALYSES["backfill"].title, HREF)]
    assert analyses_of(flow, {}) == []


@pytest.mark.parametrize("page", ["", "translate/"], ids=["flow", "translation"])
@pytest.mark.parametrize(
    ("role", "is_led"), [(Role.OPERATOR, True), (Role.VIEWER, False)], ids=["operator", "viewer"]
)
def test_operators_are_led_to_them(client, flow, page, role, is_led):
    client.force_login(make_user(role))
    text = client.get(f"/replication/{flow.pk}/{page}").content.decode()
    assert (HREF in text) == is_led


def test_the_page_of_a_flow_says_which_engine_copies_it(client, flow):
    flow.hosting = {"name": "flows-1", "slots": [3], "cpu_percent": 0.6, "memory_bytes": 4096}
    flow.run = make_run(flow)
    flow.save()
    client.force_login(make_user(Role.VIEWER))
    text = client.get(f"/replication/{flow.pk}/").content.decode()
    link = '<a href="/runs/engines/flows-1/">flows-1</a>'
    assert f"Engine {link}, slot 3, 1 % of a core" in " ".join(text.split())


def test_the_form_has_the_flow_filled_in(client, flow):
    client.force_login(make_user(Role.OPERATOR))
    assert f'<option value="{flow.name}" selected>' in client.get(HREF).content.decode()
