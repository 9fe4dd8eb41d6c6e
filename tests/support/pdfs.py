"""Real PDFs, made on the spot: good ones, and one for each way in which a PDF can be bad."""

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

_LINES, _COLUMNS, _LEADING = 48, 88, 14


def _library() -> Any:
    import pymupdf  # noqa: PLC0415 - slow to import, and few tests need it

    return pymupdf


def text_pdf(paragraphs: Sequence[str], *, title: str = "", password: str = "", pages_end: Sequence[int] = ()) -> bytes:
    """A PDF of running text; a page also ends behind the paragraphs whose numbers are in `pages_end`."""
    document = _library().open()
    lines: list[str] = []

    def page() -> None:
        document.new_page().insert_text((50, 60), lines, fontsize=10, lineheight=_LEADING / 10)
        lines.clear()

    for number, paragraph in enumerate(paragraphs):
        wrapped = textwrap.wrap(paragraph, _COLUMNS)
        if lines and len(lines) + len(wrapped) > _LINES:
            page()
        lines += [*wrapped, ""]
        if number in pages_end:
            page()
    if lines:
        page()
    document.set_metadata({"title": title})
    options = {"encryption": 5, "user_pw": password, "owner_pw": password} if password else {}  # 5: AES of 256 bits
    return bytes(document.tobytes(**options))


def scanned_pdf(pages: int = 2, *, last_with_text: bool = False) -> bytes:
    """A PDF whose pages are pictures; the last one has a line of text if asked for."""
    document = _library().open()
    picture = _library().Pixmap(_library().csGRAY, (0, 0, 200, 280), 0)
    picture.clear_with(180)
    for number in range(1, pages + 1):
        page = document.new_page()
        if last_with_text and number == pages:
            page.insert_text((50, 60), "The only words are on the last page.")
        else:
            page.insert_image(page.rect, pixmap=picture)
    return bytes(document.tobytes())


def form_pdf(*, signs: bool = False) -> bytes:
    """A form with its fields filled in; with `signs` only a tick of the font of signs."""
    pymupdf = _library()
    document = pymupdf.open()
    page = document.new_page()

    def field(name: str, kind: int, box: tuple[int, ...], value: object, **more: object) -> None:
        widget = pymupdf.Widget()
        widget.field_name, widget.field_type, widget.rect = name, kind, pymupdf.Rect(*box)
        for key, each in more.items():
            setattr(widget, key, each)
        widget.field_value = value
        page.add_widget(widget)

    if signs:
        page.insert_text((70, 60), "The lamp was lit.")
        page.insert_font(fontname="zadb")
        xref = page.get_contents()[0]
        document.update_stream(xref, document.xref_stream(xref) + b"\nBT /zadb 11 Tf 50 782 Td (4) Tj ET")
        return bytes(document.tobytes())
    text, box, choice = (getattr(pymupdf, f"PDF_WIDGET_TYPE_{kind}") for kind in ("TEXT", "CHECKBOX", "COMBOBOX"))
    page.insert_text((50, 60), "Name of the ship:")
    field("ship", text, (150, 48, 300, 64), "Grey Seal")
    for top, label, value in ((90, "I have read the rules", True), (130, "Send me the news", False)):
        page.insert_text((70, top + 10), label)
        field(f"box{top}", box, (50, top, 62, top + 12), value)
    page.insert_text((50, 180), "Flag of the owner")
    field("flag", choice, (50, 184, 200, 200), "green", choice_values=["red", "green"])
    field("harbour", text, (350, 400, 500, 416), "Skerry Point")
    return bytes(document.tobytes())


def truncated_pdf(share: float = 0.3) -> bytes:
    """The first part of a PDF whose contents would come later."""
    whole = text_pdf(["A page that breaks off before it has begun."] * 40)
    return whole[: int(len(whole) * share)]


def damaged_pdf() -> bytes:
    """A PDF that has lost its table of contents at the end, but none of its text."""
    whole = text_pdf(["The text outlived its table."] * 3)
    return whole[: whole.rindex(b"xref")]


BAD: dict[str, Callable[[], bytes]] = {
    "truncated": truncated_pdf,
    "scanned": scanned_pdf,
    "encrypted": lambda: text_pdf(["A secret."], password="sesame"),
    "empty": bytes,
    "web page": lambda: b"<!DOCTYPE html><html><body>Are you a robot?</body></html>",
    "noise": lambda: bytes(range(256)) * 8,
}
"""One maker for each way in which a PDF can be bad."""
