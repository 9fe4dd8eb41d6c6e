"""`ricordo ask`: one question, one answer."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ricordo.cli.parts import options, output

if TYPE_CHECKING:
    from ricordo.graph.notebook import Answer


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question; - reads it from standard input.")],
    thread: options.Thread = options.DEFAULT_THREAD,
    user: options.User = options.DEFAULT_USER,
    model: options.Model = None,
    max_iterations: Annotated[
        int | None, typer.Option("--max-iterations", min=1, metavar="N", help="Model calls of this turn, at most.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Ask one question, and leave when it is answered.

    The answer is written to standard output as it is said, the tools to standard error. With --json it is one object:
    the answer, why the turn stopped, the window's fill, the tools that were offered and called, and the seconds of
    each phase. The exit code is 0 for an answer and 1 for an error.

    \b
    Examples:
      ricordo ask "Can you get me the paper MemGPT?"
      ricordo ask "And what are its key takeaways?"       the same thread goes on
      ricordo ask "What did we decide?" --thread work
      git diff | ricordo ask - --json | jq -r .answer
    """
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if question == "-" else output.as_text(question)
    context: dict[str, Any] = {"user_id": output.as_text(user), "model": model, "max_iterations": max_iterations}
    output.stdout()  # from here on, what others print goes to standard error

    async def turn() -> int:
        answer = await _turn(text, output.as_text(thread), context, as_json=as_json)
        if as_json:
            output.write_json(answer.as_dict())
        return output.FAILED if answer.stop_reason == "error" else 0

    output.run(turn, as_json=as_json)


async def _turn(question: str, thread: str, context: dict[str, Any], *, as_json: bool) -> "Answer":
    from ricordo.common.errors import InputError
    from ricordo.graph.notebook import Answer, open_agent

    async with open_agent() as agent:
        if as_json:
            return await agent.ask(question, thread, **context)

        from rich.console import Console

        from ricordo.cli.talk.turn import TurnView

        view = TurnView(output.write, Console(stderr=True, highlight=False))
        view.begin()
        try:
            async for event in agent.stream(question, thread, **context):
                view.show(event)
                if isinstance(event, Answer):
                    return event
        finally:
            view.end()
    raise InputError("The turn ended without an answer. Ask again.")
