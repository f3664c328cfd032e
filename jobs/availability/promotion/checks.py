"""The checks of observers, promotions and leaders, by the codes of their findings."""

from __future__ import annotations

from functools import partial

from jobs.availability.promotion.observer_findings import ObserverFindingCode
from jobs.checks.check import Area, Check, Pattern
from jobs.severity import Severity

LEADERS_NOT_BALANCED = "leaders_not_balanced"
INFO, WARNING, CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL
_check = partial(Check, area=Area.OBSERVER)
_topic = partial(_check, narrowed_by=Pattern.TOPIC)


def code_of(code: ObserverFindingCode) -> str:
    """Return the code of its findings."""
    return f"observer_{code.value}"


# fmt: off
PROMOTIONS = (
    _topic("promotion_blocked", "Promotion blocked", "Can an observer be promoted where it is needed?",
        "In-sync replicas are missing by the policy, and no observer may be promoted.", CRITICAL,
        runbook="Remove what the finding names, or restore the sync replicas.", effect="promotion blocked"),
    _topic("promotion_wanted", "Promotion wanted", "Are enough replicas in sync by the policies?",
        "In-sync replicas are missing by the policy, and an observer can be promoted. Critical below "
        "min.insync.replicas.", CRITICAL, runbook="Promote the observer, or restore the sync replicas.",
        effect="promotion advised"),
)
OBSERVERS = (
    _topic(code_of(ObserverFindingCode.PROMOTED_TOO_LONG), "Observer promoted too long",
        "Are observers demoted in time?", "An observer is in the ISR for longer than the limit of its policy "
        "(1 h by default).", WARNING, runbook="Restore the sync replicas that it replaces."),
    _topic(code_of(ObserverFindingCode.NOT_NEEDED), "Observer not needed", "Is no observer in the ISR "
        "without need?", "An observer is in the ISR although the sync replicas have been in sync for 5 min.",
        INFO, runbook="Demote it, or find out why the brokers do not.", is_advice=True),
    _topic(code_of(ObserverFindingCode.LEADS), "Observer leads", "Is no observer a leader?",
        "An observer is the leader of a partition.", WARNING, runbook="Elect the preferred replica as soon "
        "as it is in the ISR (kafka-leader-election).", effect="partitions led by observers"),
    _topic(code_of(ObserverFindingCode.NOT_ALIVE), "Observer not alive", "Is every observer alive?",
        "The broker of an observer is down.", WARNING, runbook="Start the broker.", effect="observers down"),
    _topic(code_of(ObserverFindingCode.NOT_CAUGHT_UP), "Observer not caught up", "Are observers caught up?",
        "An observer is more than 1,000 records behind or, where its lag is unknown, was last caught up more "
        "than 30 s before.", WARNING, runbook="Check the network and disks of the broker, and throttles.",
        effect="observers not caught up"),
    _topic(code_of(ObserverFindingCode.NOT_PROMOTED), "Observer not promoted",
        "Do brokers promote observers?", "The ISR has been too small for 60 s, and no observer was promoted.",
        CRITICAL, runbook="Check that an observer is alive and caught up, and that the quorum has a "
        "majority.", effect="observers not promoted"),
)
POLICIES = (
    _check("promotion_policy_unusable", "Promotion policy unusable", "Can every promotion policy be "
        "evaluated?", "The pattern of a policy cannot be evaluated.", CRITICAL,
        runbook="Correct its pattern, or remove the policy, on the page Promotion."),
)
ACTIONS = (
    _topic("promotion_refused", "Promotion refused", "Is no automatic promotion blocked?",
        "A precondition of an automatic promotion is not met.", CRITICAL, runbook="Remove what the finding "
        "names.", effect="promotions refused"),
    _topic("promotion_failed", "Promotion failed", "Did promotions succeed?", "A promotion failed in the "
        "last hour.", CRITICAL, runbook="Open the action. Revert it if it changed something."),
)
LOOPS = (
    _check("no_standby_heartbeats", "No standby heartbeats", "Does a loop keep standby brokers in the ISR?",
        "Standby brokers are held, and no loop reported within 15 s.", CRITICAL,
        runbook="Start `manage.py promote`, on two different machines."),
    _check("one_loop_only", "One loop only", "Is there a second standby loop?", "Standby brokers are held, "
        "and one loop reported within 15 s.", WARNING, runbook="Start a second `manage.py promote`, on "
        "another machine."),
    _check("stop_switch_on", "Stop switch on", "May promotions start?", "A promotion is advised, and the "
        "stop switch is on.", WARNING, runbook="Find out why it was turned on, then turn it off on the page "
        "Promotion."),
)
LEADERS = (
    Check(LEADERS_NOT_BALANCED, "Leaders not balanced", "Do brokers lead what they are preferred for?",
        "A broker does not lead partitions whose preferred leader it is, for more than 300 s.", WARNING,
        Area.BROKER, "Elect preferred leaders (kafka-leader-election), or check "
        "auto.leader.rebalance.enable.", effect="broker {broker} without its leaders"),
)
# fmt: on
