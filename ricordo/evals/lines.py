"""Line charts as SVG, drawn by hand: a plot needs no library."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 860, 230  # pixels of one chart
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 36, 34
_TICKS = 4


@dataclass(frozen=True)
class Series:
    """One line."""

    name: str
    colour: str
    values: Sequence[float]


@dataclass(frozen=True)
class Chart:
    """Lines over one axis, which begins at zero."""

    title: str
    series: Sequence[Series]


def draw(charts: Sequence[Chart], xs: Sequence[int], x_name: str) -> str:
    """Draw charts below each other, over the same horizontal axis.

    Args:
        charts: The charts; each series has a value for each of `xs`.
        xs: Where the values stand, rising.
        x_name: What they are.

    Returns:
        An SVG document.
    """
    height = _HEIGHT * len(charts)
    box = f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for i, chart in enumerate(charts):
        parts.append(f'<g transform="translate(0 {i * _HEIGHT})">')
        parts += _chart(chart, xs, x_name)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def _chart(chart: Chart, xs: Sequence[int], x_name: str) -> list[str]:
    top = _round_up(max(value for series in chart.series for value in series.values))
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    span = max(1, xs[-1] - xs[0])

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + width * (x - xs[0]) / span, _TOP + height * (1 - y / top)

    parts = [f'<text x="{_LEFT}" y="18" font-weight="bold">{escape(chart.title)}</text>']
    for tick in range(_TICKS + 1):
        value = top * tick / _TICKS
        _, y = place(xs[0], value)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:,.10g}</text>')
        at = xs[0] + span * tick / _TICKS
        x, _ = place(at, 0)
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{at:.0f}</text>')
    parts.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 3}" text-anchor="end">{escape(x_name)}</text>')
    for i, series in enumerate(chart.series):
        points = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in zip(xs, series.values, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{series.colour}" stroke-width="1.3"/>')
        x = _WIDTH - _RIGHT - 150 * (len(chart.series) - i)
        parts.append(f'<rect x="{x}" y="9" width="10" height="10" fill="{series.colour}"/>')
        parts.append(f'<text x="{x + 15}" y="18">{escape(series.name)}</text>')
    return parts


def _round_up(value: float) -> float:
    """Return the next round number that is not below a value."""
    step = 1.0
    while step * 10 < value:
        step *= 10
    return next(factor * step for factor in (1, 2, 4, 5, 6, 8, 10, 20) if factor * step >= value)
