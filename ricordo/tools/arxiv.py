"""Papers of arXiv: find candidates, and save one to the knowledge base."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ricordo.graph import resources
from ricordo.graph.context import Context, user_of
from ricordo.readers.arxiv import search
from ricordo.readers.chunks import CHUNK_OVERLAP, CHUNK_SIZE, check_sizes
from ricordo.readers.papers import Paper, parse_id
from ricordo.stores.ingest import Ingestion, save_paper
from ricordo.stores.toolbox.box import toolbox

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

_MOST_CANDIDATES = 50
_SAVE_SECONDS = 600
"""A book of a paper is embedded in minutes; what was embedded before a time-out is not embedded again."""


@toolbox.register_tool(
    group="papers",
    tags=["arxiv", "paper", "article", "preprint", "research", "articolo", "ricerca"],
    examples=[
        "get me the paper MemGPT",
        "I am looking for a paper called Toolformer",
        "I need the paper on diffusion models",
        "find papers on retrieval augmented generation",
        "search arXiv for recent work on agents with memory",
        "is there a preprint about this",
        "trovami l'articolo Attention is all you need",
        "cerca articoli scientifici sulla memoria degli agenti",
        "puoi prendermi il paper MemGPT",
        "搜索关于智能体记忆的论文",
        "帮我找 MemGPT 这篇论文",
    ],
    side_effect=False,
)
async def arxiv_search_candidates(query: str, k: int = 5, *, runtime: "ToolRuntime[Context, Any]") -> str:
    """Search arXiv for papers and list the candidates, best match first.

    Sends the query to arXiv's search and reads the answer. Nothing is stored and no PDF is fetched: to read a paper,
    pass the id of a candidate to fetch_and_save_paper_to_kb_db.

    Args:
        query: Words of the title, the authors or the subject, such as "MemGPT" or "graph neural networks"; or arXiv's
            own syntax, such as "ti:memory AND au:packer"; or an arXiv id. With them or alone a span of time:
            "submittedDate:[20230101 TO 20231231]".
        k: How many candidates to list at most, from 1 to 50.
        runtime: Who asks.

    Returns:
        A JSON list of papers: id, entry_id, title, authors, published, abstract; of a withdrawn one what is said of it.
    """
    del runtime  # the same answer for everybody
    papers = await search(resources.get_resources().settings, query, max(1, min(k, _MOST_CANDIDATES)))
    if not papers:
        return "[]\nNo paper on arXiv matches. Try fewer or other words: the title, an author's surname, in English."
    return "[\n" + ",\n".join(json.dumps(_shown(paper), ensure_ascii=False) for paper in papers) + "\n]"


def _shown(paper: Paper) -> dict[str, Any]:
    return {name: value for name, value in asdict(paper).items() if name != "withdrawn" or value}


@toolbox.register_tool(
    group="papers",
    tags=["arxiv", "paper", "pdf", "download", "knowledge base", "save", "details", "salva"],
    examples=[
        "save the content of the paper",
        "get more details on a paper",
        "get more details on a paper on AI",
        "read the full text of this paper",
        "download the PDF and add it to the knowledge base",
        "store the second one",
        "now save it",
        "ingest 2310.08560",
        "keep the full text of this article",
        "save the Voyager paper to the knowledge base",
        "salva il contenuto del paper",
        "memorizza il contenuto di quell'articolo",
        "scarica l'articolo e mettilo nella base di conoscenza",
        "voglio più dettagli su un articolo",
        "获取一篇论文的更多细节",
        "了解这篇论文的更多详细信息",
        "把这篇论文保存到知识库",
    ],
    timeout=_SAVE_SECONDS,
)
async def fetch_and_save_paper_to_kb_db(
    arxiv_id: str,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
    *,
    runtime: "ToolRuntime[Context, Any]",
) -> str:
    """Fetch the full text of one arXiv paper and save it to the knowledge base, to get its details and answer from it.

    Downloads the PDF, takes out its text page by page, cuts the text into chunks, embeds them and stores them with
    title, authors and page numbers. The text itself is not returned: it comes up in the Knowledge Base Memory of later
    questions, and search_knowledge_base finds it. Saving a paper again changes nothing.

    Args:
        arxiv_id: The paper's id, such as "2310.08560" or "2310.08560v2"; arxiv_search_candidates finds it.
        chunk_size: Longest chunk, in characters.
        chunk_overlap: Characters that neighbouring chunks share.
        runtime: Who asks.

    Returns:
        One line that confirms the paper's title, id, pages and chunks.
    """
    check_sizes(chunk_size, chunk_overlap)
    paper = parse_id(arxiv_id)
    parts = resources.get_resources()
    memory = parts.manager.for_user(user_of(runtime))
    job = Ingestion(memory.knowledge_base, parts.settings, memory.user_id, chunk_size, chunk_overlap)
    saved = await save_paper(job, paper)
    done = {"unchanged": "Already in the knowledge base, unchanged", "replaced": "Saved anew to the knowledge base"}
    note = f" Note: {saved.detail}." if saved.detail else ""
    return (
        f'{done.get(saved.status, "Saved to the knowledge base")}: "{saved.title}" ({saved.source}), '
        f"{_count(saved.pages or 0, 'page')}, {_count(saved.chunks, 'chunk')}.{note}"
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
