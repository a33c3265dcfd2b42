"""Geometry of the charts: bars for each run, as rectangles of an SVG picture."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from punchlist.views.tables.trends import TrendPoint

HEIGHT = 100.0
STEP = 12
_FEWEST = 24
"""Runs that a picture has room for at least, so that few runs do not make broad bars."""
_WIDTH = 9
_PARTS: tuple[tuple[str, str], ...] = (
    ("fixed", "fixed"),
    ("filed", "filed"),
    ("dismissed", "dismissed"),
    ("unresolved", "open"),
)
"""The parts of a bar from below, each with the status whose colour it has."""


class Block(Struct, frozen=True):
    kind: str
    y: float
    height: float


class ChartBar(Struct, frozen=True):
    """The bar of a run; `about` is what it shows, in words."""

    x: int
    width: int
    about: str
    blocks: tuple[Block, ...]


class Chart(Struct, frozen=True):
    width: int
    highest: str
    """What the height of the picture stands for."""
    bars: tuple[ChartBar, ...]


def draw_items(points: Sequence[TrendPoint]) -> Chart:
    """Return a chart of what became of the items of each run."""
    most = max((point.items for point in points), default=0) or 1
    bars = tuple(
        _make_bar(at, _describe_items(point), _stack_parts(point, most))
        for at, point in enumerate(points)
    )
    return Chart(_picture_width(points), f"{most:,}", bars)


def draw_values(
    points: Sequence[TrendPoint],
    kind: str,
    value: Callable[[TrendPoint], float],
    words: Callable[[float], str],
) -> Chart:
    """Return a chart with one value for each run."""
    most = max(map(value, points), default=0) or 1
    bars = tuple(
        _make_bar(at, f"{point.run}: {words(value(point))}", (_block(kind, value(point), most),))
        for at, point in enumerate(points)
    )
    return Chart(_picture_width(points), words(most), bars)


def _picture_width(points: Sequence[TrendPoint]) -> int:
    return STEP * max(_FEWEST, len(points))


def _make_bar(at: int, about: str, blocks: tuple[Block, ...]) -> ChartBar:
    return ChartBar(STEP * at + (STEP - _WIDTH) // 2, _WIDTH, about, blocks)


def _describe_items(point: TrendPoint) -> str:
    counts = ", ".join(f"{getattr(point, part):,} {part}" for part, _ in _PARTS)
    return f"{point.run}: {counts}"


def _stack_parts(point: TrendPoint, most: int) -> tuple[Block, ...]:
    blocks: list[Block] = []
    below = 0
    for part, kind in _PARTS:
        count = getattr(point, part)
        if count:
            below += count
            blocks.append(
                Block(kind, round(HEIGHT - HEIGHT * below / most, 2), _scale(count, most))
            )
    return tuple(blocks)


def _block(kind: str, value: float, most: float) -> Block:
    height = _scale(value, most)
    return Block(kind, round(HEIGHT - height, 2), height)


def _scale(value: float, most: float) -> float:
    return round(HEIGHT * value / most, 2)
