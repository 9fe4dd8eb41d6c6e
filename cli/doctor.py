"""`ricordo doctor`: what is configured, what can be reached, what is missing, and what to do."""

from cli import options, output


def doctor(as_json: options.Json = False) -> None:
    """Check everything."""
    output.stdout()
