"""The command `ricordo`: every way out has an exit code, and none a traceback that nobody asked for."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        # Imported here, so that an early Ctrl-C is as quiet as a late one.
        from ricordo.cli.app import app
        from ricordo.cli.parts import output

        output.prepare_streams()
        try:
            app(prog_name="ricordo")
        except Exception as error:  # noqa: BLE001 - the last stop: whatever it is, it is told in one line
            sys.exit(output.report(error))
    except KeyboardInterrupt:
        sys.exit(130)
