"""What a load balancer asks."""

import pytest


def test_liveness_needs_no_account_and_no_database(client):
    assert client.get("/healthz").json() == {"status": "ok"}


@pytest.mark.django_db
def test_readiness_needs_the_tables_of_this_version(client):
    assert client.get("/readyz").json() == {"status": "ok"}


@pytest.mark.django_db
def test_a_database_without_the_newest_tables_is_not_ready(client):
    from django.db.migrations.recorder import MigrationRecorder

    MigrationRecorder.Migration.objects.filter(app="clusters").delete()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["detail"]) == (503, "Run: python manage.py migrate")
