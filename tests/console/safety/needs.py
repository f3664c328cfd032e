"""What methods of addresses need: a right, and on what; those of runs, incidents and checks."""

from __future__ import annotations

from dataclasses import dataclass

# What a method needs: a right, and on what.
# PUBLIC: needs no sign-in. OWN: everyone who is signed in.
# ANYWHERE: the right on some cluster. HERE: on the clusters that the address is about.
# EVERYWHERE: the right on all clusters. SOURCE: the right on the source of the flow, of which both clusters
# can be seen.
PUBLIC, OWN, ANYWHERE, HERE, EVERYWHERE = "public", "own", "anywhere", "here", "everywhere"
SOURCE = "source"


@dataclass(frozen=True)
class Need:
    """A right and where it is needed; `people_only`: not for tokens."""

    where: str
    right: str = "view"
    people_only: bool = False


def on(where: str, right: str = "view", **more: bool) -> Need:
    return Need(where, right, **more)


SEE_ANY, SEE = on(ANYWHERE), on(HERE)
RUN_ANY, RUN = on(ANYWHERE, "operate"), on(HERE, "operate")
RUN_SOURCE = on(SOURCE, "operate")
RUN_ALL = on(EVERYWHERE, "operate")
SEE_ALL = on(EVERYWHERE)
RULE, RULE_ALL = on(HERE, "administer"), on(EVERYWHERE, "administer")
RULE_ANY = on(ANYWHERE, "administer")
MINE, MINE_ALONE = on(OWN), on(OWN, people_only=True)
RULE_ALONE = on(EVERYWHERE, "administer", people_only=True)
OPEN = on(PUBLIC)

# What belongs to no cluster is seen with a role everywhere; the page of the list is empty to all others.
OF_RUNS: dict[str, dict[str, Need]] = {
    "runs:list": {"GET": SEE_ANY},
    "runs:detail": {"GET": SEE},
    "runs:cancel": {"POST": RUN},
    # What a question is about stands in its form or body, and is looked at there.
    "runs:new": {"GET": RUN_ANY},
    "runs:new-analysis": {"GET": RUN_ANY, "POST": RUN_ANY},
    "runs:csv": {"GET": SEE},
    "runs:parquet": {"GET": SEE},
    "runs:engines": {"GET": SEE_ANY},
    "runs:engine": {"GET": SEE_ALL},
    "runs:roll-engine": {"POST": RUN_ALL},
    "api-engine-list": {"GET": SEE_ALL},
    "api-engine-detail": {"GET": SEE_ALL},
    "api-engine-roll": {"POST": RUN_ALL},
    "api-run-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-run-kinds": {"GET": SEE_ANY},
    # Of no cluster: a list says nothing until it is asked about, and nobody can read it here.
    "api-run-files": {"POST": RUN_ANY},
    "api-run-result": {"GET": SEE},
    "api-run-rows": {"GET": SEE},
    "api-run-csv": {"GET": SEE},
    "api-run-parquet": {"GET": SEE},
    "api-run-detail": {"GET": SEE},
    "api-run-cancel": {"POST": RUN},
    "api-run-log": {"GET": SEE},
}
OF_INCIDENTS: dict[str, dict[str, Need]] = {
    "findings:incidents": {"GET": SEE_ANY},
    "findings:incident": {"GET": SEE},
    "findings:acknowledge-incident": {"POST": RUN},
    "findings:silence-incident": {"POST": RUN},
    "findings:unsilence-incident": {"POST": RUN},
    "findings:set-incident-owner": {"POST": RUN},
    "findings:set-incident-note": {"POST": RUN},
    "api-incident-list": {"GET": SEE_ANY},
    "api-incident-detail": {"GET": SEE, "PATCH": RUN},
    "api-incident-acknowledge": {"POST": RUN},
    "api-incident-unacknowledge": {"POST": RUN},
    "api-incident-silence": {"POST": RUN},
    "api-incident-unsilence": {"POST": RUN},
    # checks: a setting or a window of all clusters needs an administrator, which the actions decide
    "checks:list": {"GET": SEE_ANY},
    "checks:settings": {"GET": SEE_ANY},
    "checks:new-setting": {"GET": RUN_ANY, "POST": RUN_ANY},
    "checks:setting": {"GET": SEE, "POST": RUN},
    "checks:remove-setting": {"POST": RUN},
    "checks:objectives": {"GET": SEE_ANY, "POST": RUN_ANY},
    "checks:objective": {"GET": SEE, "POST": RUN},
    "checks:remove-objective": {"POST": RUN},
    "checks:maintenance": {"GET": SEE_ANY},
    "checks:new-window": {"GET": RUN_ANY, "POST": RUN_ANY},
    "checks:preview-window": {"POST": RUN_ANY},
    "checks:remove-window": {"POST": RUN},
    "api-check-list": {"GET": SEE_ANY},
    "api-check-detail": {"GET": SEE_ANY},
    "api-setting-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-setting-detail": {"GET": SEE, "PATCH": RUN, "DELETE": RUN},
    "api-objective-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-objective-detail": {"GET": SEE, "PATCH": RUN, "DELETE": RUN},
    "api-window-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-window-detail": {"GET": SEE, "DELETE": RUN},
}
