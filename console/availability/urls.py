"""Addresses of the availability room."""

from django.urls import path

from console.availability.controller_sites import pages as controller_site_pages
from console.availability.designer import pages as designer_pages
from console.availability.placements import observer_pages
from console.availability.placements import pages as placement_pages
from console.availability.promotion import urls as promotion_urls
from console.availability.status import pages
from console.availability.what_if import pages as what_if_pages
from console.frame.pages import addresses  # noqa: F401  it makes <kafka:...> known

app_name = "availability"
_CLUSTER = "availability/<slug:alias>/"
urlpatterns = [
    path("availability/", pages.list_page, name="list"),
    path(_CLUSTER, pages.detail_page, name="detail"),
    path(f"{_CLUSTER}observers/", observer_pages.observers_page, name="observers"),
    path(f"{_CLUSTER}placements/", placement_pages.placements_page, name="placements"),
    path(f"{_CLUSTER}placements/new/", placement_pages.new_page, name="new-placement"),
    path(
        f"{_CLUSTER}placements/<int:placement_id>/",
        placement_pages.placement_page,
        name="placement",
    ),
    path(
        f"{_CLUSTER}placements/<int:placement_id>/remove/",
        placement_pages.remove,
        name="remove-placement",
    ),
    path(f"{_CLUSTER}what-if/", what_if_pages.what_if_page, name="what-if"),
    path(f"{_CLUSTER}what-if/matrix/", what_if_pages.matrix_page, name="matrix"),
    path(
        f"{_CLUSTER}what-if/controllers/",
        controller_site_pages.controller_sites_page,
        name="controller-sites",
    ),
    path(f"{_CLUSTER}designer/", designer_pages.designer_page, name="designer"),
    path(f"{_CLUSTER}partitions/", pages.partitions_page, name="partitions"),
    path(
        f"{_CLUSTER}partitions/<kafka:topic>/<int:partition>/",
        pages.partition_page,
        name="partition",
    ),
    path(f"{_CLUSTER}brokers/", pages.brokers_page, name="brokers"),
    *promotion_urls.urlpatterns,
]
