from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.stores.toolbox.catalogue import indexed
from ricordo.stores.toolbox.index import IndexedTool, Request, Scores, ToolIndex, request
from ricordo.stores.toolbox.text import ToolText, asked, clauses_of, index_version, requests_of

WEATHER = ToolText(
    "get_weather",
    "Tell the weather of a town. It comes from a station.",
    {"properties": {"town": {"type": "string", "description": "A town, such as Lisbon"}, "unit": {"enum": ["kelvin"]}}},
    "weather",
    ("forecast",),
    ("will it rain",),
)


def index_of(*texts: ToolText, vectors: Sequence[Sequence[float]] | None = None) -> ToolIndex:
    made = [np.array(vector, np.float32) for vector in vectors] if vectors else [None] * len(texts)
    return ToolIndex([indexed(text, vector=vector) for text, vector in zip(texts, made, strict=True)])


def first(index: ToolIndex, text: str, embedding: Scores | None = None) -> str:
    return index.search([Request(asked(text), embedding)], 1)[0][0]


@pytest.mark.parametrize(
    "query", ["getWeather", "weathers", "station", "towns", "Lisbon", "kelvin", "forecasts", "will it rain"]
)
def test_every_field_of_a_tool_is_found(query: str) -> None:
    others = [ToolText(f"other_{i}", "Do something else.") for i in range(5)]
    assert first(index_of(*others, WEATHER), query) == "get_weather"


def test_words_of_one_family_meet_though_their_stems_differ() -> None:
    index = index_of(ToolText("multiply", "Work it out."), ToolText("divide", "Work it out."))
    assert first(index, "a multiplication") == "multiply"


def test_small_words_that_mean_something_to_a_tool_count() -> None:
    index = index_of(ToolText("turn_on", "Switch the lamp."), ToolText("turn_off", "Switch the lamp."))
    assert first(index, "turn the lamp off") == "turn_off"
    assert first(index, "turn the lamp on") == "turn_on"


def test_a_name_weighs_more_than_a_detail() -> None:
    schema = {"properties": {"text": {"type": "string", "description": "Text of the invoice"}}}
    index = index_of(ToolText("translate", "Translate it.", schema), ToolText("invoice", "Make it.", {}))
    assert first(index, "invoice") == "invoice"


def test_small_words_that_all_people_say_do_not_outweigh_the_one_that_names_the_task() -> None:
    others = [ToolText(f"other_{i}", "Do something else.") for i in range(5)]
    index = index_of(*others, ToolText("ideas", "What I can do about my day."), ToolText("garage", "Mend a car."))
    assert first(index, "what can I do about my car") == "garage"


RAKE = np.array([1, 0, 0], np.float32)


def garden(*, near_in_meaning: bool) -> ToolIndex:
    """Thirty tools; the one whose words are asked for is near in meaning to `RAKE`, or is not, as all the others."""
    texts = [ToolText("named", "Sweep old leaves."), ToolText("meant", "Tidy beds.")]
    near = [[0.9, 0.1, 0], [1, 0, 0]] if near_in_meaning else [[0, 0, 1], [1, 0, 0]]
    rest = [ToolText(f"other_{i}", f"Count number {i}.") for i in range(28)]
    return index_of(*texts, *rest, vectors=[*near, *([0, i / 28, 1 - i / 28] for i in range(28))])


def test_words_decide_between_tools_that_are_near_in_meaning() -> None:
    assert first(garden(near_in_meaning=True), "sweep the old leaves", RAKE) == "named"


def test_words_that_hit_what_is_far_in_meaning_hit_by_chance() -> None:
    assert first(garden(near_in_meaning=False), "sweep the old leaves", RAKE) == "meant"


def test_what_the_words_put_first_counts_though_several_tie() -> None:
    index = index_of(
        *(ToolText(name, "Ring the bell.") for name in ("up", "on", "in")),
        *(ToolText(f"other_{i}", "Paint it.") for i in range(27)),
        vectors=[[0.8, 0.3, 0], [0.8, 0.2, 0], [0.9, 0.1, 0], [1, 0, 0], *([0, 0, 1] for _ in range(26))],
    )
    assert first(index, "ring the bell", RAKE) == "in"


def test_meaning_finds_what_words_do_not() -> None:
    index = index_of(ToolText("alpha", "First."), ToolText("beta", "Second."), vectors=[[1, 0, 0], [0, 1, 0]])
    assert index.embedded
    assert first(index, "qqq", np.array([0.1, 1, 0], np.float32)) == "beta"


def test_words_and_meaning_are_weighed_together() -> None:
    index = index_of(
        ToolText("alpha", "Ring the bell."),
        ToolText("beta", "Ring the bell."),
        ToolText("gamma", "Paint the fence."),
        vectors=[[1, 0, 0], [0, 1, 0], [0, 0.9, 0.1]],
    )
    toward = np.array([0, 1, 0], np.float32)
    assert [name for name, _ in index.search([Request(asked("ring a bell"), toward)], 3)] == ["beta", "alpha", "gamma"]


def test_two_embedding_models_are_weighed_alike_and_either_may_be_missing() -> None:
    def tools(*, light: bool) -> list[IndexedTool]:
        axes = np.eye(3, dtype=np.float32)
        return [
            indexed(ToolText(name, "Do it."), vector=axis, light=axis if light else None)
            for name, axis in zip("abc", axes, strict=True)
        ]

    index, half = ToolIndex(tools(light=True)), ToolIndex(tools(light=False))
    toward_c, toward_b = np.array([0, 0.8, 1], np.float32), np.array([0, 1, 0], np.float32)
    assert index.lightly_embedded
    assert index.search([Request({}, toward_c, toward_b)], 1)[0][0] == "b"
    assert index.search([Request({}, toward_c)], 1)[0][0] == "c"
    assert index.search([Request({}, None, toward_b)], 1)[0][0] == "b"
    assert not half.lightly_embedded
    assert half.search([Request({}, toward_c, toward_b)], 1)[0][0] == "c"


def test_a_tool_that_is_not_embedded_yet_counts_by_its_words() -> None:
    tools = [indexed(ToolText("old", "Sing."), vector=np.array([1, 0], np.float32)), indexed(ToolText("new", "Dance."))]
    index = ToolIndex(tools)
    toward = np.array([1, 0], np.float32)
    assert first(index, "dance a dance", toward) == "new"
    assert first(index, "sing a song", toward) == "old"


def grouped(*groups: str) -> ToolIndex:
    """Tools that differ in their group and in how well they fit; `mail_0` fits best."""
    texts = [
        ToolText("mail_0", "Send mail quickly to a friend.", {}, groups[0]),
        ToolText("mail_1", "Send mail.", {}, groups[1]),
        ToolText("mail_2", "Read mail.", {}, groups[1]),
        ToolText("rake", "Rake the leaves.", {}, groups[2]),
        ToolText("hoe", "Hoe the beds.", {}, groups[2]),
    ]
    return index_of(*texts)


def test_the_tools_of_a_group_that_fits_are_lifted() -> None:
    ranked = index_of(
        ToolText("a", "Fetch the ledger of the shop.", {}, "shop"),
        ToolText("b", "Close the shop.", {}, "shop"),
        ToolText("c", "Close the window of the shop.", {}, "house"),
        ToolText("d", "Wash the dog.", {}, "house"),
        ToolText("e", "Feed the cat.", {}, "house"),
    ).search([Request(asked("shop ledger, close"))], 5)
    names = [name for name, _ in ranked]
    assert names.index("b") < names.index("c")


def test_a_wrong_group_costs_a_tool_nothing() -> None:
    query = [Request(asked("send mail quickly to a friend"))]
    right, wrong = grouped("mail", "mail", "garden"), grouped("garden", "mail", "garden")
    assert right.search(query, 1)[0][0] == "mail_0"
    assert wrong.search(query, 1)[0][0] == "mail_0"


def test_excluded_tools_are_not_found() -> None:
    index = grouped("", "", "")
    found = [name for name, _ in index.search([Request(asked("mail"))], 5, {"mail_0", "unknown"})]
    assert "mail_0" not in found
    assert found


def test_nothing_to_search_gives_nothing() -> None:
    assert ToolIndex([]).search([Request(asked("x"))], 5) == []
    assert grouped("", "", "").search([], 5) == []
    assert grouped("", "", "").search([Request(asked("zzz"))], 5) == []


TEXTS = st.builds(
    ToolText,
    st.text(max_size=20),
    st.text(max_size=60),
    st.dictionaries(st.just("properties"), st.dictionaries(st.text(max_size=5), st.none() | st.just({})), max_size=1),
    st.sampled_from(["", "a", "b"]),
)


@given(st.lists(TEXTS, max_size=8), st.text(max_size=40), st.integers(0, 12), st.booleans())
def test_any_tools_and_any_request_give_a_ranking(tools: list[ToolText], query: str, k: int, embedded: bool) -> None:  # noqa: FBT001 - hypothesis passes it
    random_ = np.random.default_rng(1)
    vectors = [random_.normal(size=4).astype(np.float32) if embedded else None for _ in tools]
    index = ToolIndex([indexed(text, vector=vector) for text, vector in zip(tools, vectors, strict=True)])
    ranked = index.search([Request(asked(query), np.full(4, 0.5, np.float32))], k)
    scores = [score for _, score in ranked]
    assert len(ranked) <= min(k, len(tools))
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


@pytest.mark.parametrize(
    ("task", "parts"),
    [
        ("Find the users named Alice, and then mail them the result.", 2),
        ("First, book a room in Rome. Second, hire a small car. Finally, tell me the weather.", 3),
        ("Close the door. Then lock it twice.", 2),
        ("1. open the file\n2. count its lines", 2),
        ("What is the weather in Rome?", 0),
        ("Who came first in the race?", 0),
        ("", 0),
    ],
)
def test_requests_that_are_counted_out_are_split(task: str, parts: int) -> None:
    assert len(requests_of(task)) == parts


@pytest.mark.parametrize(
    ("task", "clauses"),
    [
        ("a boat to Malta and where do I sleep there", 2),
        ("My bike is stolen: who do I call, and can I claim it back?", 2),
        ("look up the old recipe then read it to me, plus set the big timer", 3),
        ("hire a car in Bern and in Basel", 0),
        ("A car is at rest and then it speeds up. How fast is it in the end and how far did it go?", 0),
        ("sand and gravel", 0),
        ("", 0),
    ],
)
def test_a_sentence_is_split_where_its_clauses_join(task: str, clauses: int) -> None:
    assert len(clauses_of(task)) == clauses


@given(st.text(max_size=200) | st.lists(st.sampled_from(["and", "but", ",", ":", "\n", "a", "b c d e"])).map(" ".join))
def test_parts_are_pieces_of_the_task(task: str) -> None:
    assert all(part in task for part in [*requests_of(task), *clauses_of(task)])


@pytest.mark.parametrize(
    "task",
    [
        "First show me the tide chart of the harbour. Then hire me something cheap.",
        "show me the tide chart of the harbour and hire me something cheap",
    ],
)
async def test_each_request_of_a_task_has_its_tool_near_the_top(task: str) -> None:
    charts = [ToolText(f"{of}_chart", f"Show the {of} chart of a harbour.") for of in ("tide", "wind", "fog", "frost")]
    others = [ToolText(f"other_{i}", "Do something else.") for i in range(5)]
    index = index_of(*charts, *others, ToolText("rental", "Hire a car for some days."))
    assert [name for name, _ in index.search([await request(task)], 2)] == ["tide_chart", "rental"]


async def test_only_the_light_model_embeds_the_clauses_of_a_sentence() -> None:
    by: dict[str, list[str]] = {"deployment": [], "light": []}

    async def embed(text: str) -> Scores:
        by["deployment"].append(text)
        return np.ones(2, np.float32)

    async def light(text: str) -> Scores:
        by["light"].append(text)
        return np.ones(2, np.float32)

    task = "a boat to Malta for tomorrow and where do I sleep there"
    made = await request(task, embed, light)
    assert by["deployment"] == [task]
    assert sorted(by["light"]) == sorted([task, "a boat to Malta for tomorrow", "where do I sleep there"])
    assert [part.embedding for part in made.parts] == [None, None]


def test_a_tool_is_embedded_whole_and_by_its_headline() -> None:
    whole, headline = WEATHER.passages()
    assert headline == "Tell the weather of a town."
    for part in ("get weather", "station", "town: A town, such as Lisbon", "kelvin", "will it rain"):
        assert part in whole


def test_only_the_beginning_of_a_huge_tool_is_indexed() -> None:
    huge = ToolText(
        "huge", "word " * 20_000, {"properties": {f"p{i}": {"description": "x " * 5000} for i in range(50)}}
    )
    assert all(len(passage) <= 2000 for passage in huge.passages())
    assert sum(huge.terms().values()) < 20_000


def test_the_version_of_the_index_stands_for_how_words_are_made() -> None:
    assert "'~getu'" not in index_version()
    assert "'~cafe'" in index_version() or "'~café'" in index_version()
