"""An analysis whose arguments name flows, a cluster and a list."""

from jobs.spark.analyses.analysis import Analysis, Answer, Argument, ArgumentType

KIND = "test-offsets"
ASKING = Analysis(
    kind=KIND,
    title="Offsets",
    question="Where are these offsets?",
    arguments=(
        Argument("flow", ArgumentType.FLOW, "Flow"),
        Argument("beside", ArgumentType.FLOW, "Beside"),
        Argument("cluster", ArgumentType.CLUSTER, "Cluster"),
        Argument("offsets", ArgumentType.FILE, "List of offsets"),
        Argument("most", ArgumentType.INTEGER, "At most", default=10, least=1, most=100),
    ),
    tables=(),
    run=lambda task, arguments: Answer(),
    command="offsets-of",
)
