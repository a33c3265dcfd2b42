"""Tables of a repository over time."""

from collections.abc import Sequence

from punchlist.cli.drawing import Table
from punchlist.cli.show.layout import make_table
from punchlist.cli.show.words import one_line
from punchlist.views.tables.trends import AgentClaims, TrendPoint, describe_cost
from punchlist.views.words import format_age


def trends_table(points: Sequence[TrendPoint], now: float) -> Table:
    table = make_table(
        "Run", "Started", "Unresolved", "Fixed", "Filed", "Dismissed", "Cost", "Refuted"
    )
    for point in points:
        counts = (point.unresolved, point.fixed, point.filed, point.dismissed)
        table.add_row(
            point.run if point.ended else f"{point.run} (not ended)",
            format_age(now - point.started_at),
            *(f"{count:,}" for count in counts),
            describe_cost(point),
            f"{point.refuted:,}",
        )
    return table


def claims_table(agents: Sequence[AgentClaims]) -> Table:
    table = make_table("Agent", "Claimed fixes", "Refuted")
    for each in agents:
        table.add_row(one_line(each.agent), f"{each.claims:,}", f"{each.refuted:,}")
    return table
