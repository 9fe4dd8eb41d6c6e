"""`ricordo chat`: a talk at the terminal, or one turn for each line of a pipe."""

import sys

from ricordo.cli.parts import options, output


def chat(
    thread: options.Thread = options.DEFAULT_THREAD,
    user: options.User = options.DEFAULT_USER,
    model: options.Model = None,
) -> None:
    """Talk to Ricordo.

    The answer streams in, tools are shown as they are called, and a gauge shows how full the window is. Ctrl-C stops a
    turn, Ctrl-D leaves; /help lists the chat's own commands. What was said stays in the thread, across restarts.
    Without a terminal, each line of standard input is a turn and each answer goes to standard output.

    \b
    Examples:
      ricordo chat
      ricordo chat --thread work --user alice
      ricordo chat --model offline
      printf 'Who wrote MemGPT?\\nAnd when?\\n' | ricordo chat --thread papers
    """
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not at_terminal:
        output.stdout()

    async def work() -> int:
        from ricordo.cli.talk.session import Session

        async with Session(output.as_text(thread), output.as_text(user), model) as session:
            if at_terminal:
                from ricordo.cli.talk.terminal import talk

                return await talk(session)
            from ricordo.cli.talk.lines import answer_lines

            return await answer_lines(session)

    output.run(work)
