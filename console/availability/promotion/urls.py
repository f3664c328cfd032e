"""Addresses of promotions, drills and runbooks, within those of a cluster's availability."""

from django.urls import path

from console.availability.drills import pages as drill_pages
from console.availability.promotion import pages as promotion_pages

_CLUSTER = "availability/<slug:alias>/"
_PROMOTION = f"{_CLUSTER}promotion/"
_ACTION = f"{_PROMOTION}actions/<uuid:action_id>/"
_POLICY = f"{_PROMOTION}policies/<int:policy_id>/"
urlpatterns = [
    path(_PROMOTION, promotion_pages.promotion_page, name="promotion"),
    path(
        f"{_PROMOTION}policies/new/", promotion_pages.new_policy_page, name="new-promotion-policy"
    ),
    path(_POLICY, promotion_pages.policy_page, name="promotion-policy"),
    path(f"{_POLICY}remove/", promotion_pages.remove_policy, name="remove-promotion-policy"),
    path(_ACTION, promotion_pages.action_page, name="promotion-action"),
    path(f"{_ACTION}plan/", promotion_pages.plan, name="plan-promotion"),
    path(f"{_ACTION}apply/", promotion_pages.apply, name="apply-promotion"),
    path(f"{_ACTION}revert/", promotion_pages.revert, name="revert-promotion"),
    path(f"{_PROMOTION}stop/", promotion_pages.stop, name="stop-promotions"),
    path(f"{_PROMOTION}go-on/", promotion_pages.go_on, name="allow-promotions"),
    path(f"{_PROMOTION}stop-all/", promotion_pages.stop_all, name="stop-all-promotions"),
    path(f"{_PROMOTION}go-on-all/", promotion_pages.go_on_all, name="allow-all-promotions"),
    path(f"{_CLUSTER}drills/", drill_pages.drills_page, name="drills"),
    path(f"{_CLUSTER}drills/start/", drill_pages.start, name="start-drill"),
    path(f"{_CLUSTER}drills/record/", drill_pages.record_page, name="record-drill"),
    path(f"{_CLUSTER}drills/<uuid:drill_id>/", drill_pages.drill_page, name="drill"),
    path(f"{_CLUSTER}runbooks/", drill_pages.runbooks_page, name="runbooks"),
]
