"""A refused form names every fault in one round, also those of fields that have to fit each other."""

import pytest

from tests.console.safety.world import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin_client(client):
    client.force_login(make_person("ada", "admin"))
    return client


def test_a_new_cluster_without_an_alias_names_the_faults_of_its_sasl_fields_too(admin_client):
    values = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "ssl_key": "no reference",
    }
    form = admin_client.post("/clusters/new/", values).context["form"]
    wrong = {"alias", "bootstrap_servers", "sasl_username", "sasl_oauthbearer_token_url", "ssl_key"}
    assert wrong <= set(form.errors)


def test_the_settings_of_a_cluster_name_the_faults_of_its_sasl_fields_too(admin_client, world):
    values = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "bootstrap_servers": ""}
    form = admin_client.post("/clusters/east/settings/", values).context["form"]
    assert {"bootstrap_servers", "sasl_username", "sasl_password"} <= set(form.errors)
    assert "alias" not in form.errors
