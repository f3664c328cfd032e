"""The checks of a quorum, by the codes of their findings."""

from __future__ import annotations

from functools import partial

from jobs.checks.check import Area, Check, Threshold, Unit
from jobs.quorum.health.codes import OTHER_DIRECTORY, TEXTS_CUT, QuorumCode
from jobs.severity import Severity

INFO, WARNING, CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL
_quorum = partial(Check, area=Area.QUORUM)
# What describes the setup or the past: it opens no incident.
_advice = partial(_quorum, is_advice=True)
_OF_VOTERS = "quorum {alive} of {voters}"
LAG_RECORDS, LAG_S = "lag_records", "lag_s"
_LAGS = (
    Threshold(LAG_RECORDS, 1_000, Unit.RECORDS, "Records behind the leader.", least=1, most=10**9),
    Threshold(LAG_S, 10, Unit.SECONDS, "Time behind the leader.", least=1, most=86_400),
)

# fmt: off
_CHECKS = (
    _quorum(QuorumCode.NO_MAJORITY, "No majority", "Do enough voters answer the leader?",
        "Fewer than a majority of the voters fetched within 10 s.", CRITICAL, effect=_OF_VOTERS,
        runbook="Restart voters until a majority answers."),
    _quorum(QuorumCode.NO_LEADER, "No leader", "Does the quorum have a leader?", "DescribeQuorum names no "
        "leader, in two rounds.", CRITICAL, effect="quorum without a leader",
        runbook="Restart enough controllers for a majority of the voters; check the connections between "
        "them."),
    _quorum(QuorumCode.BARE_MAJORITY, "Quorum at minimum", "Can the quorum lose another voter?",
        "Voters are silent, and those left are just a majority.", CRITICAL, effect=_OF_VOTERS,
        runbook="Restart the silent voters, or replace them (crosslog quorum-change)."),
    _advice(QuorumCode.FEW_VOTERS, "Few voters", "Does the quorum tolerate a failure?",
        "The quorum has fewer than 3 voters.", WARNING, runbook="Add voters until there are three or five "
        "(crosslog quorum-change)."),
    _advice(QuorumCode.EVEN_VOTERS, "Even voters", "Is the number of voters uneven?",
        "The quorum has an even number of voters.", WARNING, runbook="Add a voter, or remove one."),
    _quorum(QuorumCode.VOTER_SILENT, "Voter not fetching", "Does every voter fetch from the leader?",
        "A voter has not fetched for 10 s, in two rounds; the leader has been in office for a round.",
        CRITICAL, effect="voter {node} not fetching", runbook="Check that the node runs and reaches the "
        "controller listener of the leader."),
    _quorum(QuorumCode.VOTER_LAGS, "Voter lags", "Do voters keep up with the leader?",
        "A voter is behind the leader by more than one of the thresholds, in two rounds.", WARNING,
        thresholds=_LAGS, effect="voter {node} lags", runbook="Check its disk, its network and its garbage "
        "collection. Count it as failed until then."),
    _advice(QuorumCode.NO_DIRECTORY_ID, "No directory id", "Do all voters have a directory ID?",
        "Some voters have a directory ID, and others none.", WARNING, runbook="Start the voter with Kafka "
        "3.9 or later and kraft.version 1."),
    _advice(QuorumCode.DANGLING_CONTROLLER, "Dangling controller", "Is every running controller a voter?",
        "A controller fetches as an observer, in two rounds.", WARNING, runbook="Make it a voter (crosslog "
        "quorum-change --add), or stop it."),
    _advice(QuorumCode.GHOST_REGISTRATION, "Ghost registration", "Does every registered controller exist?",
        "A registered controller is neither voter nor observer, in two rounds.", WARNING,
        runbook="Start it once with current software, or unregister it (Kafka 4.4 and later)."),
    _quorum(QuorumCode.HIGH_WATERMARK_STALLED, "High watermark stalled", "Are metadata records committed?",
        "The high watermark has not moved for 10 s although the log of the leader is longer, in two rounds.",
        CRITICAL, effect="no metadata committed", runbook="A majority of the voters must fetch: check those "
        "that are silent or lag."),
    _quorum(QuorumCode.CHANGE_NOT_COMMITTED, "Change not committed", "Are changes of voters committed?",
        "A change of voters is not committed after 60 s, in two rounds.", CRITICAL,
        effect="change of voters not committed", runbook="Restart voters of the new set; no other change is "
        "possible before."),
    _quorum(QuorumCode.ELECTION_STORM, "Election storm", "Are controllers stable?", "5 elections within 10 "
        "min; over when 10 min pass without one.", WARNING, effect="{elections} controller elections",
        runbook="Check for controllers that restart, pause or lose their network."),
    _advice(QuorumCode.EPOCH_JUMP, "Epoch jump", "Do elections succeed at once?", "Epochs without a leader "
        "came before an election: one (info) or more; over after 10 min.", WARNING,
        runbook="Check the connections between the controllers."),
    _advice(QuorumCode.NO_ACTIVE_CONTROLLER, "No active controller", "Was a controller always active?",
        "The log had no record for longer than 1.5 s and 3 times the usual distance; over after 10 min.",
        WARNING, runbook="Check the former leader where an election ended it, else the leader for pauses."),
    _quorum(QuorumCode.CLOCK_SKEW, "Clock skew", "Do the clocks of the controllers agree?",
        "A record of a new leader is dated 1 s or more before the record before it; kept for 24 h.", WARNING,
        runbook="Synchronize the clocks of all controllers with NTP."),
    _quorum(QuorumCode.VOTER_ENDPOINT, "Voter endpoint", "Can nodes reach the endpoints of the voters?",
        "An endpoint of a voter is one that other nodes cannot reach, or several voters have it.", CRITICAL,
        runbook="Correct advertised.listeners of the controllers, then update the endpoints of the voters."),
    _quorum(QuorumCode.UNSAFE_CHANGE, "Unsafe change", "Were changes of voters and elections safe?",
        "A change of voters or an election in the last 24 h broke the rules of KRaft.", CRITICAL,
        runbook="Compare the logs of all controllers: committed records may be lost."),
    _quorum(QuorumCode.LOG_BROKEN, "Log broken", "Is the metadata log intact?", "The log has batches or "
        "records that Kafka does not write.", CRITICAL, runbook="Compare with the log of another controller, "
        "and let the node fetch the log again."),
    _advice(QuorumCode.RECORDS_MISSING, "Records missing", "Is the history of the metadata log complete?",
        "Ranges of the log were deleted before they were read.", INFO, runbook="Import the log folder of a "
        "node that may still have them."),
    _quorum(QuorumCode.LOG_DISAGREES, "Log disagrees", "Do the log and DescribeQuorum agree?",
        "Epoch, leader or voters differ between the log and DescribeQuorum, in two rounds.", CRITICAL,
        runbook="Read the log again from a controller. If the finding remains, the folder is of another "
        "cluster, or a disk lost records."),
    _quorum(QuorumCode.REPLICAS_DIFFER, "Replicas differ", "Are the logs of the controllers the same?",
        "Two logs differ below the high watermark.", CRITICAL, runbook="Compare with a third replica, and "
        "replace the disk of the wrong one."),
    _quorum(OTHER_DIRECTORY, "Other directory", "Do voters run with the directory that votes?",
        "A node fetches with another directory ID than the voter of its ID, in two rounds.", CRITICAL,
        effect="voter {node} has another directory", runbook="Remove the old directory from the voters and "
        "add the new one: Voter change planner."),
    _advice(TEXTS_CUT, "Texts cut", "Are the texts of metadata changes stored in full?",
        "Texts of changes were longer than the limits of what is stored; at most once in an hour.", INFO,
        runbook="Find the client that writes long configs or names. The archive has the full records."),
)
# fmt: on
OF = {one.id: one for one in _CHECKS}


def of(*codes: str) -> list[Check]:
    """Return the checks of some codes."""
    return [OF[code] for code in codes]
