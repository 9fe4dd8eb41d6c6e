import asyncio

import pytest

from ricordo.common.errors import DocumentError
from ricordo.readers.kinds import read_document
from ricordo.readers.pdf import read_pdf
from tests.support.pdfs import BAD, damaged_pdf, form_pdf, scanned_pdf, text_pdf

NAMED = {
    "truncated": "corrupt",
    "scanned": "scanned.*OCR",
    "encrypted": "encrypted.*password",
    "empty": "empty",
    "web page": "not a PDF.*web page",
    "noise": "not a PDF",
}


@pytest.mark.parametrize("fault", BAD)
def test_each_fault_of_a_pdf_is_called_by_its_name(fault: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DocumentError, match=NAMED[fault]) as caught:
        read_pdf(BAD[fault](), "paper.pdf")
    assert "paper.pdf" in str(caught.value)
    assert capfd.readouterr() == ("", "")  # MuPDF writes its own complaints to the terminal unless told otherwise


def test_pages_are_numbered_and_their_lines_joined_to_paragraphs() -> None:
    long = "The lighthouse of Skerry Point was lit in 1871 by a keeper who had never seen the sea before that year."
    document = read_pdf(text_pdf(["First page.", long, "Last page."], pages_end=[0, 1]), "paper.pdf")
    assert [(page.number, page.text) for page in document.pages] == [(1, "First page."), (2, long), (3, "Last page.")]
    assert document.page_count == 3
    assert document.notes == ()


def test_the_title_is_the_documents_own_unless_a_program_made_it_up() -> None:
    assert read_pdf(text_pdf(["x"], title=" On\n Tides "), "a/b.pdf").title == "On Tides"
    assert read_pdf(text_pdf(["x"], title="Microsoft Word - draft3.doc"), "a/tides.pdf").title == "tides"
    assert read_pdf(text_pdf(["x"]), "arxiv:2310.08560").title == "arxiv:2310.08560"


def test_a_page_without_text_among_others_is_noted() -> None:
    document = read_pdf(scanned_pdf(3, last_with_text=True), "half.pdf")
    assert [page.number for page in document.pages] == [3]
    assert document.page_count == 3
    assert "2 of 3 pages hold no text (page 1, 2)" in document.notes[0]


def test_a_repaired_file_gives_its_text_and_says_so() -> None:
    document = read_pdf(damaged_pdf(), "old.pdf")
    assert "outlived" in document.pages[0].text
    assert "repaired" in document.notes[0]


async def test_reading_at_the_same_time_mixes_nothing_up() -> None:
    files = [text_pdf([f"Only number {n} says {n * 7}."] * 40) for n in range(6)]
    read = await asyncio.gather(*(read_document(data, f"{n}.pdf") for n, data in enumerate(files)))
    for number, document in enumerate(read):
        assert all(f"Only number {number} says {number * 7}." in page.text for page in document.pages)


def test_fields_of_a_form_stand_beside_their_labels_and_boxes_are_ticked_or_open() -> None:
    [page] = read_pdf(form_pdf(), "form.pdf").pages
    lines = [line for line in page.text.splitlines() if line]
    assert "Name of the ship: Grey Seal" in lines
    assert "☑ I have read the rules" in lines
    assert "☐ Send me the news" in lines
    assert "Flag of the owner green" in lines, "the label stands above"
    assert "harbour: Skerry Point" in lines, "a field without a label is known by its name"
    assert page.text.count("Grey Seal") == 1


def test_a_tick_of_a_font_of_signs_is_a_tick() -> None:
    [page] = read_pdf(form_pdf(signs=True), "form.pdf").pages
    assert "✔" in page.text
