import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool, tool
from pydantic import SecretStr

from ricordo.common.errors import ToolError
from ricordo.common.settings import Settings
from ricordo.stores.toolbox.box import Toolbox

KEYLESS, KEYED = Settings(tavily_api_key=None), Settings(tavily_api_key=SecretStr("k"))


@pytest.fixture
def box() -> Toolbox:
    """A toolbox with three tools."""
    made = Toolbox()

    @made.register_tool(group="files", tags=["folder"])
    def list_directory(path: str) -> str:
        """List the files in a folder."""
        return path

    @made.register_tool(group="communication", examples=["drop her a line"], side_effect=True)
    async def send_mail(to: str, body: str = "") -> str:
        """Send an e-mail to somebody.

        Args:
            to: The recipient's address.
            body: What to say.
        """
        return f"{to}: {body}"

    @made.register_tool(requires="tavily_api_key", side_effect=False)
    def search_web(query: str) -> str:
        """Search the web for pages."""
        return query

    return made


async def names(box: Toolbox, query: str, k: int = 1, **more: Any) -> list[str]:
    return [hit.name for hit in await box.search(query, k, **({"settings": KEYED} | more))]


def test_registration_returns_the_function_as_it_was() -> None:
    box = Toolbox()

    def plain(x: int) -> int:
        """Say x."""
        return x

    assert box.register_tool(plain) is plain
    assert box.register_tool(group="g", timeout=3)(plain) is plain
    assert (box.get("plain").group, box.get("plain").timeout) == ("g", 3), "registered again, it takes the old place"
    assert len(box) == 1


def test_a_tool_that_says_nothing_is_taken_to_have_a_side_effect(box: Toolbox) -> None:
    assert box.get("list_directory").side_effect
    assert not box.get("search_web").side_effect


def test_any_langchain_tool_can_be_registered() -> None:
    @tool
    def shout(text: str) -> str:
        """Say it loudly."""
        return text.upper()

    box = Toolbox()
    assert box.register_tool(shout, group="voice") is shout
    assert box.get("shout").tool.invoke({"text": "a"}) == "A"
    assert box.schema("shout")["function"]["description"] == "Say it loudly."


def test_two_tools_of_one_name_are_refused(box: Toolbox) -> None:
    def other() -> Callable[..., str]:
        def send_mail(text: str) -> str:
            """Send it by pigeon."""
            return text

        return send_mail

    with pytest.raises(ToolError, match=r"Two tools are called 'send_mail': .*box.*\.send_mail and .*other.*Rename"):
        box.register_tool(other())
    with pytest.raises(ToolError, match="Two tools"):
        box.register_tool(StructuredTool.from_function(other(), name="send_mail"))
    assert "e-mail" in box.get("send_mail").description, "the first one stays"


def test_a_name_defined_twice_in_one_file_is_refused() -> None:
    box = Toolbox()

    @box.register_tool
    def twice() -> str:
        """Say one."""
        return "1"

    with pytest.raises(ToolError, match="Two tools are called 'twice'"):

        @box.register_tool
        def twice() -> str:
            """Say two."""
            return "2"


def test_a_module_that_is_edited_and_reloaded_replaces_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Toolbox()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "the_box", box)
    source = 'import the_box\n@the_box.register_tool\ndef mine():\n    """Do {0}."""\n'
    (tmp_path / "reloaded_tools.py").write_text(source.format("one"))
    module = importlib.import_module("reloaded_tools")
    try:
        (tmp_path / "reloaded_tools.py").write_text("# edited\n\n" + source.format("two"))
        importlib.reload(module)
    finally:
        del sys.modules["reloaded_tools"]
    assert box.get("mine").description == "Do two."


def test_a_notebook_cell_may_be_run_again() -> None:
    box = Toolbox()
    for number in (1, 2):
        cell = compile(f'def cell():\n    """Run {number}."""', f"<cell {number}>", "exec")
        space: dict[str, Any] = {"__name__": "__main__"}
        exec(cell, space)  # noqa: S102 - what a notebook does
        box.register_tool(space["cell"])
    assert box.get("cell").description == "Run 2."


@pytest.mark.parametrize("name", ["math.factorial", "", "a b", "né", "x" * 65, "drop;"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    def nameless() -> str:
        """Do it."""
        return ""

    nameless.__name__ = name
    with pytest.raises(ToolError, match="1 to 64 letters, digits"):
        Toolbox().register_tool(nameless)


def test_an_option_that_does_not_exist_and_a_class_are_refused() -> None:
    box = Toolbox()

    def wave() -> str:
        """Wave."""
        return "o/"

    with pytest.raises(ToolError, match=r"unknown option: groop\. There are augment, examples, group"):
        box.register_tool(wave, groop="x")  # type: ignore[call-overload]
    with pytest.raises(ToolError, match="'Toolbox' is a class"):
        box.register_tool(Toolbox)
    for wrong in ({"timeout": "x"}, {"timeout": -1}, {"tags": [1]}):
        with pytest.raises(ToolError, match="The tool 'wave' has"):
            box.register_tool(wave, **wrong)
    box.register_tool(wave, tags="hello", examples="say hello")
    assert (box.get("wave").tags, box.get("wave").examples) == (("hello",), ("say hello",))


def test_a_requirement_that_is_no_setting_is_refused() -> None:
    with pytest.raises(ToolError, match="no such setting"):
        Toolbox().register_tool(requires="tavilly_key")(test_a_notebook_cell_may_be_run_again)


async def test_a_tool_without_its_setting_is_neither_offered_nor_found(box: Toolbox) -> None:
    assert box.hidden(KEYLESS) == {"search_web"}
    assert box.hidden(KEYED) == set()
    assert await names(box, "search the web") == ["search_web"]
    assert "search_web" not in await names(box, "search the web", 10, settings=KEYLESS)


def test_an_unknown_name_is_told_with_the_closest_ones(box: Toolbox) -> None:
    with pytest.raises(ToolError, match=r"no tool called 'send_email'\. Did you mean send_mail.*read_toolbox"):
        box.get("send_email")
    with pytest.raises(ToolError, match=r"no tool called 'zzz'\. .ricordo"):
        box.schema("zzz")


async def test_a_tool_without_a_docstring_is_described_by_its_name() -> None:
    box = Toolbox()

    @box.register_tool
    def getUserName(user_id: int) -> str:  # noqa: N802 - as people name them
        return str(user_id)

    assert box.schema("getUserName")["function"]["description"] == "Get user name."
    assert not box.get("getUserName").documented
    assert await names(box, "the name of the user") == ["getUserName"]


async def test_search_by_words_works_before_any_synchronisation(box: Toolbox) -> None:
    assert await names(box, "which files are in this folder?") == ["list_directory"]
    assert await names(box, "drop her a line") == ["send_mail"], "examples are searched"
    assert await names(box, "recipient") == ["send_mail"], "parameters are searched with their descriptions"
    assert await names(box, "send mail", exclude=["send_mail"]) != ["send_mail"]
    assert await names(box, "mail", 0) == []
    assert await names(Toolbox(), "mail", 3) == []


async def test_scores_are_comparable_within_a_list(box: Toolbox) -> None:
    hits = await box.search("send an e-mail about the files in a folder", 3, settings=KEYED)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1
    assert all(0 < score <= 1 for score in scores)


async def test_of_several_texts_each_tool_counts_by_its_best(box: Toolbox) -> None:
    hits = await box.search(["list the files in the folder", "send an e-mail"], 2, settings=KEYED)
    assert {hit.name for hit in hits} == {"list_directory", "send_mail"}


async def test_what_is_registered_or_removed_later_is_seen_at_once(box: Toolbox) -> None:
    assert await names(box, "polish brass lamp", 3) == []

    @box.register_tool
    def polish_lamp() -> str:
        """Polish a brass lamp."""
        return ""

    assert await names(box, "polish brass lamp") == ["polish_lamp"]
    box.remove("polish_lamp")
    box.remove("polish_lamp")
    assert await names(box, "polish brass lamp") == []
    assert "polish_lamp" not in box


async def test_a_tool_of_which_no_schema_can_be_made_costs_only_itself(box: Toolbox) -> None:
    class Opaque: ...

    @box.register_tool
    def broken(thing: Opaque) -> str:
        """Send an e-mail to a thing."""
        return str(thing)

    assert await names(box, "send an e-mail", 5) == ["send_mail"]
    assert "broken" in box.hidden(KEYED)
    assert "no schema can be made" in box.notices["broken"]
    with pytest.raises(ToolError, match="no schema can be made"):
        box.schema("broken")


@pytest.mark.parametrize("query", ["", " ", "\x00", "\ud800", "🦜" * 5, "?" * 100_000, "и " * 3000])
async def test_any_text_can_be_searched_for(box: Toolbox, query: str) -> None:
    assert len(await names(box, query, 3)) <= 3


def made_of(count: int) -> list[BaseTool]:
    return [StructuredTool.from_function(lambda: "", name=f"tool_{i}", description=f"Do {i}.") for i in range(count)]


async def test_many_tools_stand_in_the_order_of_their_registration_and_are_found(box: Toolbox) -> None:
    for each in made_of(300):
        box.register_tool(each)
    assert [each.name for each in box][3:6] == ["tool_0", "tool_1", "tool_2"]
    assert await names(box, "do 277") == ["tool_277"]


async def test_a_search_within_a_group_or_among_tags_leaves_out_all_others() -> None:
    box = Toolbox()
    box.register_tool(lambda_tool("send_mail", "Send an e-mail."), group="mail", tags=["Post", "letters"])
    box.register_tool(lambda_tool("send_letter", "Send a letter by post."), group="post", tags=["letters"])
    box.register_tool(lambda_tool("send_pigeon", "Send a pigeon."), tags=["birds"])

    async def found(**which: Any) -> set[str]:
        return {hit.name for hit in await box.search("send it", 5, settings=KEYLESS, **which)}

    assert await found() == {"send_mail", "send_letter", "send_pigeon"}
    assert await found(group="mail") == {"send_mail"}
    assert await found(tags=["letters"]) == {"send_mail", "send_letter"}
    assert await found(tags=["post", "birds"]) == {"send_mail", "send_pigeon"}
    assert await found(group="post", tags=["letters"]) == {"send_letter"}
    with pytest.raises(ToolError, match=r"no group of tools called 'male'\. There are mail, post\."):
        await found(group="male")
    with pytest.raises(ToolError, match=r"No tool there has the tag bird\. There are letters\."):
        await found(group="post", tags=["bird"])


def lambda_tool(name: str, description: str) -> StructuredTool:
    return StructuredTool.from_function(lambda text: text, name=name, description=description)
