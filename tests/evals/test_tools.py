import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from langchain_core.language_models import FakeListChatModel

from ricordo.common.errors import InputError, ModelError
from ricordo.common.settings import Settings
from ricordo.evals.tools import Task, evaluate_tools, read_tasks, read_tools
from ricordo.models.embeddings import Embedder
from ricordo.stores.toolbox.box import Toolbox

TOOLS = [
    {"name": "send_mail", "description": "Send an e-mail.", "parameters": {"properties": {"to": {"type": "string"}}}},
    {"name": "weather.get", "description": "Tell the weather of a town.", "group": "weather", "tags": ["rain"]},
    {"name": "list_files", "description": "List the files in a folder.", "parameters": None},
    {"name": "resize", "description": "Make a picture smaller.", "examples": ["shrink it"]},
]
TASKS = [
    {"task": "send an e-mail to Ada", "ground_truth_tools": ["send_mail"]},
    {
        "task": "list my files, and then tell me the weather in town",
        "ground_truth_tools": ["list_files", "weather.get"],
    },
    {"task": "list the files in the folder", "ground_truth_tools": ["resize"]},
]


def write(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("\n\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return write(tmp_path / "tools.jsonl", TOOLS)


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write(tmp_path / "queries.jsonl", TASKS)


async def test_the_report_counts_what_was_found(tools: Path, tasks: Path) -> None:
    told: list[tuple[str, int, int]] = []
    report = await evaluate_tools(tools, tasks, 2, embedder=None, progress=lambda *step: told.append(step))
    assert (report.tools, report.tasks, report.k, report.embeddings) == (4, 3, 2, "none")
    assert report.recall["1"] == 50.0, "one of one, one of two, none of one"
    assert report.recall["2"] == pytest.approx(66.7)
    assert report.recall["10"] >= report.recall["2"]
    assert list(report.recall) == ["1", "2", "3", "5", "10"]
    assert report.perfect["1"] == pytest.approx(33.3)
    assert report.perfect["2"] == pytest.approx(66.7)
    assert 60 < report.ndcg < 70
    assert [(miss.missing, miss.found[0]) for miss in report.misses] == [(("resize",), "list_files")]
    assert 0 < report.tokens_offered < report.tokens_all
    assert report.search_ms.p95 >= report.search_ms.p50 > 0
    assert told[-1] == ("asking", 3, 3)
    assert json.loads(json.dumps(report.as_dict()))["recall"]["1"] == 50.0


async def test_with_the_model_meaning_counts_in_any_language(tools: Path, tmp_path: Path, embedder: Embedder) -> None:
    asked = write(
        tmp_path / "q.jsonl",
        [
            {"task": "Pioverà a Lisbona domani?", "ground_truth_tools": ["weather.get"]},
            {"task": "把这张图片缩小", "ground_truth_tools": ["resize"]},
        ],
    )
    report = await evaluate_tools(tools, asked, 1, embedder=embedder)
    assert report.recall["1"] == 100.0
    assert report.embeddings.startswith(embedder.model_id)
    assert report.misses == ()


async def test_words_and_meaning_are_measured_apart(tools: Path, embedder: Embedder) -> None:
    asked = [Task("Pioverà a Lisbona domani?", frozenset({"weather.get"})), Task("shrink it", frozenset({"resize"}))]
    by_words = await evaluate_tools(tools, asked, 1, embedder=None)
    by_meaning = await evaluate_tools(tools, asked[:1], 1, embedder=embedder, words=False)
    assert by_words.recall["1"] == 50.0, "no word of the Italian request is any tool's"
    assert by_meaning.recall["1"] == 100.0


async def test_a_task_with_its_steps_written_out_is_gone_through_step_by_step(tools: Path, tmp_path: Path) -> None:
    task = {"task": "prepare my trip", "steps": ["1. shrink it", "", "2. tell the weather of the town"]}
    path = write(tmp_path / "q.jsonl", [task | {"ground_truth_tools": ["resize", "weather.get"]}])
    report = await evaluate_tools(tools, path, 1, embedder=None, settings=Settings(tools_per_step=1, max_tools=4))
    assert report.steps is not None
    assert (report.steps.recall, report.steps.perfect) == (100.0, 100.0)
    assert report.steps.offered == 2.0
    assert report.steps.recall_of_one_search == 0.0
    without = await evaluate_tools(tools, [Task("shrink it", frozenset({"resize"}))], embedder=None)
    assert without.steps is None


async def test_what_a_model_writes_about_the_tools_is_measured_too(tools: Path) -> None:
    writer = FakeListChatModel(responses=["Requests: zzz."])
    asked = [Task("zzz", frozenset({"send_mail"}))]
    assert (await evaluate_tools(tools, asked, 4, embedder=None)).recall["10"] == 0.0
    report = await evaluate_tools(tools, asked, 4, embedder=None, writer=writer)
    assert report.recall["10"] == 100.0


async def test_a_model_that_writes_nothing_ends_the_evaluation(tools: Path) -> None:
    with pytest.raises(ModelError, match="wrote nothing"):
        await evaluate_tools(tools, [Task("x", frozenset())], embedder=None, writer=FakeListChatModel(responses=[" "]))


async def test_ones_own_registered_tools_are_evaluated_too() -> None:
    box = Toolbox()

    @box.register_tool(examples=["it is too dark"])
    def light_lamp(room: str) -> str:
        """Light the lamp in a room."""
        return room

    report = await evaluate_tools(box, [Task("it is too dark in here", frozenset({"light_lamp"}))], embedder=None)
    assert report.recall["1"] == 100.0


async def test_a_task_whose_tool_is_not_there_counts_as_missed(tools: Path) -> None:
    report = await evaluate_tools(tools, [Task("sing", frozenset({"sing"}))], embedder=None)
    assert (report.unknown, report.recall["10"]) == (("sing",), 0.0)


async def test_names_that_several_tools_have_are_told(tmp_path: Path) -> None:
    rows = [{"name": name, "description": f"{name}."} for name in ("go", "stop", "go")]
    tools = write(tmp_path / "t.jsonl", rows)
    assert (await evaluate_tools(tools, [Task("go", frozenset({"go"}))], embedder=None)).repeated == ("go",)


async def test_tools_of_one_name_in_several_groups_are_taken(tmp_path: Path) -> None:
    rows = [{"name": "search", "description": f"Search the {where}.", "group": where} for where in ("web", "house")]
    report = await evaluate_tools(
        write(tmp_path / "t.jsonl", rows), [Task("search the house", frozenset({"search"}))], embedder=None
    )
    assert (report.tools, report.recall["1"]) == (2, 100.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("{", "line 1 is no JSON"),
        ("[1]", "must be an object with name, description"),
        ('{"name": "a"}', "must be an object with name, description"),
        ('{"name": "a", "description": "", "tags": 5}', "tool 'a': tags and examples must be lists"),
        ("[" * 100_000, "line 1 is no JSON"),
    ],
)
def test_a_file_of_another_form_is_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_tools(path)


def test_a_file_that_cannot_be_read_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_tasks(tmp_path / "missing.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"task": "\xe9"}')
    with pytest.raises(InputError, match="cannot be read"):
        read_tasks(tmp_path / "latin.jsonl")
    names = write(tmp_path / "names.jsonl", [{"task": "x", "ground_truth_tools": "send_mail"}])
    with pytest.raises(InputError, match="must be a list of names"):
        read_tasks(names)
    steps = write(tmp_path / "steps.jsonl", [{"task": "x", "ground_truth_tools": [], "steps": "first"}])
    with pytest.raises(InputError, match="steps a list of texts"):
        read_tasks(steps)


async def test_other_ways_to_search_by_groups_are_compared_on_request(tmp_path: Path) -> None:
    groups = {"mail": "an e-mail", "post": "a letter", "birds": "a pigeon", "phone": "a text message"}
    made = [
        {"name": f"{verb}_{group}", "description": f"{verb} {what}.", "group": group}
        for group, what in groups.items()
        for verb in ("send", "read", "delete")
    ]
    asked = [
        {"task": f"{verb} {what}, please", "ground_truth_tools": [f"{verb}_{group}"]}
        for group, what in groups.items()
        for verb in ("send", "read", "delete")
    ]
    files = write(tmp_path / "tools.jsonl", made), write(tmp_path / "tasks.jsonl", asked)
    assert (await evaluate_tools(*files, 1, embedder=None)).ways is None
    ways = (await evaluate_tools(*files, 1, embedder=None, groups=True)).ways
    assert ways is not None
    assert list(ways) == ["global", "group", "two-level"]
    assert {name: way.recall["3"] for name, way in ways.items()} == dict.fromkeys(ways, 100.0)
    assert ways["group"].perfect["1"] == 100.0, "there are three to choose from"
    assert all(way.search_ms.p95 >= way.search_ms.p50 > 0 for way in ways.values())


async def test_tools_without_a_group_are_searched_in_every_way(tools: Path, tasks: Path) -> None:
    ways = (await evaluate_tools(tools, tasks, 2, embedder=None, groups=True)).ways
    assert ways is not None
    assert ways["two-level"].recall["1"] == 50.0
    assert ways["group"].recall["2"] == 66.7, "no word leads to the third"
