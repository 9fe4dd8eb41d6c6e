"""The current time, in the user's zone."""

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from ricordo.graph.context import Context, context_of
from ricordo.stores.toolbox.box import toolbox

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

# Not strftime's names, which follow the machine's locale.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@toolbox.register_tool(
    group="time",
    tags=["clock", "date", "today", "now", "ora", "oggi"],
    examples=[
        "what time is it",
        "what day is it today",
        "which week of the year are we in",
        "che ore sono",
        "che giorno è oggi",
        "in che settimana siamo",
        "现在几点",
        "今天几号",
    ],
    side_effect=False,
)
async def get_current_time(*, detailed: bool = False, runtime: "ToolRuntime[Context, Any]") -> str:
    """Tell the current date and time in the user's time zone.

    Reads the clock and converts it to the zone that the user has set (UTC if none).

    Args:
        detailed: Also tell the weekday, the ISO week, the day of the year, the offset from UTC, and the time in UTC.
        runtime: Who asks.

    Returns:
        The time as `YYYY-MM-DD HH:MM:SS (zone)`, with the details a line each if they were asked for.
    """
    name = context_of(runtime).timezone
    zone, note = _zone(name)
    now = datetime.now(zone)
    short = f"{now:%Y-%m-%d %H:%M:%S} ({'UTC' if note else name}){note}"
    if not detailed:
        return short
    year, week, _ = now.isocalendar()
    return "\n".join(
        [
            short,
            f"weekday: {_WEEKDAYS[now.weekday()]}",
            f"week: {year}-W{week:02d}",
            f"day of the year: {now.timetuple().tm_yday}",
            f"ISO 8601: {now.isoformat(timespec='seconds')}",
            f"UTC: {now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            f"Unix time: {int(now.timestamp())}",
        ]
    )


def _zone(name: str) -> tuple[tzinfo, str]:
    """Return the zone of a name; where there is none, UTC and a note that says so."""
    if name.upper() == "UTC":
        return UTC, ""
    try:
        return ZoneInfo(name), ""
    except (KeyError, ValueError, OSError):  # unknown; not fit for a path; a folder
        return UTC, f" - {name!r} is not the name of a time zone, so this is UTC; names look like Europe/Rome"
