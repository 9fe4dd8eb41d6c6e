"""arXiv on localhost: the Atom search and the PDFs of a few papers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from tests.support.pdfs import BAD, text_pdf
from tests.support.stand_ins.local_server import LocalServer, Reply, Request


@dataclass(frozen=True)
class ArxivPaper:
    id: str
    title: str
    authors: tuple[str, ...]
    published: str
    abstract: str
    body: tuple[str, ...]
    """Paragraphs of the PDF, behind the title and the abstract; none: there is no PDF."""
    comment: str = ""

    @property
    def base(self) -> str:
        return re.sub(r"v\d+$", "", self.id)


_METHOD = (
    "2 Method. Our system has a main context, which the model sees, and an external context on disk. A queue manager "
    "evicts old messages and writes a recursive summary when 70 percent of the window is in use."
)
_CONCLUSION = (
    "4 Conclusion. The key takeaways are three: memory in tiers makes a small window look large; the model can manage "
    "its own memory by function calls; and interrupts keep the conversation going meanwhile."
)

PAPERS = (
    ArxivPaper(
        "2310.08560v2",
        "MemGPT: Towards LLMs as Operating Systems",
        ("Charles Packer", "Sarah Wooders", "Kevin Lin"),
        "2023-10-12T17:51:32Z",
        "Language models are bound to a window of fixed size. We treat the window as the main memory of a computer and "
        "let the model page data in and out of an archive by itself.",
        (
            "1 Introduction. A long talk does not fit the window of a model, and what falls out of it is forgotten.",
            _METHOD,
            "3 Experiments. Our system still answers at four levels of nested keys; the plain model fails at three.",
            _CONCLUSION,
        ),
    ),
    ArxivPaper(
        "1706.03762v7",
        "Attention Is All You Need",
        ("Ashish Vaswani", "Noam Shazeer"),
        "2017-06-12T17:57:34Z",
        "We propose a simple network architecture, the Transformer, which rests on attention alone and needs neither "
        "recurrence nor convolution.",
        (
            "The encoder is a stack of six layers that are all alike, with a residual connection around each sublayer.",
            "The big model was trained on eight processors for three and a half days.",
        ),
    ),
    ArxivPaper(
        "2005.11401v4",
        "Retrieval-Augmented Generation for Knowledge-Intensive NLP Tasks",
        ("Patrick Lewis", "Ethan Perez"),
        "2020-05-22T21:34:34Z",
        "We combine a generator with a dense index of an encyclopedia, so that facts can be looked up and replaced.",
        ("The index holds twenty-one million passages of a hundred words each.",),
    ),
    ArxivPaper(
        "cs/0112017v1",
        "A Small Calculus of Ledgers",
        ("R. Oldman",),
        "2001-12-19T10:00:00Z",
        "Two column accounts are given a grammar with nine rules.",
        ("Every ledger has a normal form, and it is reached in seven steps.",),
    ),
)

WITHDRAWN = (
    ArxivPaper(
        "2401.00001v2",
        "On Tides That Never Turn",
        ("P. Quill",),
        "2024-01-01T10:00:00Z",
        "We show that tides never turn.",
        (),
        "This paper has been withdrawn by the author due to an error in equation 3",
    ),
    ArxivPaper(
        "2401.00002v1",
        "On Lamps",
        ("P. Quill",),
        "2024-01-02T10:00:00Z",
        "This paper was retracted by its authors.",
        ("Lamps burn.",),
    ),
    ArxivPaper(
        "2401.00003v1",
        "On Papers That Are Withdrawn",
        ("P. Quill",),
        "2024-01-03T10:00:00Z",
        "We count how many papers of other people were withdrawn.",
        ("Some were.",),
        "12 pages",
    ),
)
"""Two that say that they were withdrawn, and one about such papers."""

_ID = re.compile(r"(\d{4}\.\d{4,5}|[a-z-]+/\d{7})(v\d+)?")


class ArxivServer(LocalServer):
    """Serves `/api/query` and `/pdf/ID`.

    Set `pdf` to a key of `BAD` for bad PDFs, and `abstract` to give the first paper found another one.
    """

    def __init__(self, papers: Sequence[ArxivPaper] = PAPERS) -> None:
        super().__init__()
        self.papers = tuple(papers)
        self.pdf = "good"
        self.abstract: str | None = None
        self.api_down = False

    def settings(self) -> dict[str, str]:
        """The environment variables that lead here."""
        return {
            "RICORDO_ARXIV_API_URL": f"{self.url}/api/query",
            "RICORDO_ARXIV_PDF_URL": f"{self.url}/pdf",
            "RICORDO_ARXIV_PAUSE_SECONDS": "0",
        }

    def answer(self, request: Request) -> Reply:
        if request.path.startswith("/pdf/"):
            return self._pdf(request.path.removeprefix("/pdf/"))
        if request.path != "/api/query":
            return Reply(b"No such page.", status=404)
        if self.api_down:
            return Reply(b"Rate exceeded.", status=429)
        ids = [part for part in request.query.get("id_list", "").split(",") if part]
        if not all(_ID.fullmatch(part) for part in ids):
            return Reply(self._feed([_ERROR]).encode(), "application/atom+xml", 400)
        found = self._named(ids) if ids else self._matching(request.query.get("search_query", ""))
        start, most = int(request.query.get("start", 0)), int(request.query.get("max_results", 10))
        entries = [self._entry(paper, number) for number, paper in enumerate(found)][start : start + most]
        return Reply(self._feed(entries).encode(), "application/atom+xml")

    def _pdf(self, name: str) -> Reply:
        found = self._named([name.removesuffix(".pdf")])
        if not found or not found[0].body:
            return Reply(b"No paper.", status=404)
        if self.pdf != "good":
            return Reply(BAD[self.pdf](), "application/pdf")
        paper = found[0]
        first = [paper.title, ", ".join(paper.authors), f"Abstract. {paper.abstract}"]
        return Reply(text_pdf([*first, *paper.body], pages_end=[2]), "application/pdf")

    def _named(self, ids: Sequence[str]) -> list[ArxivPaper]:
        return [paper for part in ids for paper in self.papers if part in {paper.id, paper.base}]

    def _matching(self, query: str) -> list[ArxivPaper]:
        """Papers that hold a word of the query in the title or the abstract, those with most of them first."""
        words = set(re.findall(r"\w+", query.lower())) - {"all", "ti", "au", "abs", "and", "or"}
        ranked = [(len(words & set(re.findall(r"\w+", f"{p.title} {p.abstract}".lower()))), p) for p in self.papers]
        return [paper for score, paper in sorted(ranked, key=lambda pair: -pair[0]) if score]

    def _entry(self, paper: ArxivPaper, number: int) -> str:
        abstract = self.abstract if self.abstract is not None and number == 0 else paper.abstract
        authors = "".join(f"<author><name>{escape(name)}</name></author>" for name in paper.authors)
        return (
            f"<entry><id>http://arxiv.org/abs/{paper.id}</id><updated>{paper.published}</updated>"
            f"<published>{paper.published}</published><title>{escape(paper.title)}</title>"
            f"<summary>  {escape(abstract)}\n</summary>{authors}"
            f'<arxiv:comment xmlns:arxiv="http://arxiv.org/schemas/atom">{escape(paper.comment)}</arxiv:comment>'
            f'<link title="pdf" href="{self.url}/pdf/{paper.id}" rel="related" type="application/pdf"/></entry>'
        )

    def _feed(self, entries: Sequence[str]) -> str:
        return (
            '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">'
            "<title>Query</title><id>http://arxiv.org/api/1</id>" + "".join(entries) + "</feed>"
        )


_ERROR = "<entry><id>http://arxiv.org/api/errors#incorrect_id</id><title>Error</title><summary>bad id</summary></entry>"
