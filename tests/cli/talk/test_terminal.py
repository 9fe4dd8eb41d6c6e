from pathlib import Path

from tests.cli.conftest import Run
from tests.support.stand_ins.openai_script import say
from tests.support.stand_ins.openai_server import OpenAIServer
from tests.support.terminal import PROMPT, Terminal


def test_a_chat_at_a_terminal(settings: dict[str, str], tmp_path: Path) -> None:
    with OpenAIServer() as model, Terminal("chat", settings=settings | model.settings()) as terminal:
        model.play(say("It is late, very late. " * 40, drip=0.2), say("As I said: it is late."))
        assert "Ricordo talks by openai:gpt-5-mini" in terminal.read_until(PROMPT)

        terminal.type("/help\r")
        assert "/window" in terminal.read_until("Ctrl-D leaves")
        terminal.read_until(PROMPT)

        terminal.type("What time is it?\r")
        terminal.read_until("very late")
        terminal.type(b"\x03")  # stops the turn, and the turn alone
        assert "stopped" in terminal.read_until(PROMPT)

        terminal.type(b"\x1b[200~And now,\nagain?\x1b[201~")  # pasted: its line end does not send it
        terminal.type("\r")
        assert "As I said: it is late." in terminal.read_until("tokens")
        terminal.read_until(PROMPT)
        assert [request.question for request in model.main] == ["What time is it?", "And now,\nagain?"]

        terminal.type("/window\r")
        assert "system" in terminal.read_until("tools")
        terminal.read_until(PROMPT)
        terminal.type("/new\r")
        terminal.read_until(PROMPT)
        terminal.type("/threads\r")
        assert "1  " in terminal.read_until("messages")
        terminal.read_until(PROMPT)
        terminal.type(b"half a thought\x03")  # at the prompt it drops the line
        assert "Ctrl-D" in terminal.read_until("leaves")
        terminal.read_until(PROMPT)
        terminal.type(b"\x04")
        assert terminal.wait() == 0
    history = (tmp_path / "home" / "history").read_text()
    assert "+What time is it?" in history
    assert "+And now,\n+again?" in history


def test_a_chat_ends_when_its_database_cannot_be_opened(settings: dict[str, str]) -> None:
    lost = settings | {"RICORDO_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}
    with Terminal("chat", settings=lost) as terminal:
        assert "Ricordo is offline" in terminal.read_until(PROMPT)
        assert "error: PostgreSQL failed" in terminal.read_until("RICORDO_DATABASE_URL")
        assert terminal.wait() == 1


def test_a_pipe_is_a_chat_of_one_turn_a_line(run: Run) -> None:
    done = run("chat", given=b"What time is it?\n\n/thread other\nWhat time is it?\xff\n/nope\n/quit\nnever asked\n")
    assert done.returncode == 0
    assert done.stdout.decode().count("From get_current_time:") == 2
    assert b"\x1b" not in done.stdout + done.stderr
    assert "This is thread other." in done.stderr.decode()
    assert "There is no command /nope" in done.stderr.decode()
