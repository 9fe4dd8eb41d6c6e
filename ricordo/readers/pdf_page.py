"""One page of a PDF as blocks of lines: running text, the fields of a form beside their labels, ticks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TICKED, OPEN = "☑", "☐"
_DINGBATS = str.maketrans({"3": "✓", "4": "✔", "5": "✕", "6": "✖", "7": "✗", "8": "✘", "n": "■", "o": "□", "q": "□"})
"""What the characters of the font of signs stand for that forms are ticked with."""
_SIGNS = str.maketrans(
    {"\uf0fc": "✓", "\uf0fb": "✗", "\uf0fe": TICKED, "\uf0fd": "☒", "\uf078": "☒", "\uf0a8": OPEN, "\uf06f": OPEN}
    | {"\uf0a7": "•", "\uf0b7": "•"}
)
"""The same, of another such font, whose characters stand where Unicode has none."""
_NEAR = 3.0
"""Points by which a label and its field may overlap."""
_ABOVE = 30.0
"""Points by which a label may stand above its field."""


@dataclass
class Line:
    """A line of text and where it stands: left, top, right, bottom, in points."""

    text: str
    box: Sequence[float]

    def beside(self, box: Sequence[float]) -> bool:
        """Tell whether it stands at the height of a box."""
        middle = (box[1] + box[3]) / 2
        return bool(self.box[1] <= middle <= self.box[3] or box[1] <= (self.box[1] + self.box[3]) / 2 <= box[3])


def blocks_of(page: Any, flags: int) -> list[str]:
    """Return the blocks of a page, each of its lines.

    Args:
        page: PyMuPDF's page. The fields of its form are taken off it.
        flags: How PyMuPDF reads text.

    Raises:
        RuntimeError: PyMuPDF cannot read it.
    """
    fields = _fields(page)
    if not fields and not any("dingbats" in font[3].casefold() for font in page.get_fonts()):
        return [str(block[4]).translate(_SIGNS) for block in page.get_text("blocks", flags=flags) if not block[6]]
    blocks = [
        [Line(_text(line), line["bbox"]) for line in block["lines"]]
        for block in page.get_text("dict", flags=flags)["blocks"]
        if block["type"] == 0
    ]
    filled = [_fill_in(field, [line for block in blocks for line in block]) for field in fields]
    placed = ["\n".join(line.text for line in block).translate(_SIGNS) for block in blocks]
    return [*placed, *(text for text in filled if text)]


@dataclass(frozen=True)
class _Field:
    name: str
    value: str
    box: Sequence[float]
    is_tick: bool


def _fields(page: Any) -> list[_Field]:
    """Return the fields of a form that say something, and take them off the page: their own texts have no labels."""
    found = []
    for widget in list(page.widgets()):
        kind = widget.field_type_string
        is_tick = kind in {"CheckBox", "RadioButton"}
        value = widget.field_value
        if is_tick:
            value = TICKED if value is True or value == widget.on_state() else OPEN
        elif isinstance(value, list | tuple):
            value = ", ".join(map(str, value))
        if kind not in {"Signature", "Button"} and value not in (None, ""):
            found.append(_Field(widget.field_label or widget.field_name or "", str(value), tuple(widget.rect), is_tick))
        page.delete_widget(widget)
    return found


def _fill_in(field: _Field, lines: list[Line]) -> str | None:
    """Put a field's value into the line of its label; where there is none, return a line with the field's own name."""
    left, top, right, _ = field.box
    level = [line for line in lines if line.beside(field.box)]
    to_left = max((ln for ln in level if ln.box[2] <= left + _NEAR), key=lambda ln: ln.box[2], default=None)
    to_right = min((ln for ln in level if ln.box[0] >= right - _NEAR), key=lambda ln: ln.box[0], default=None)
    if field.is_tick:
        if label := to_right or to_left:
            label.text = f"{field.value} {label.text.strip()}"
            return None
        return f"{field.value} {field.name}".strip()
    over = [ln for ln in lines if ln.box[0] < right and ln.box[2] > left - _NEAR]
    above = [ln for ln in over if top - _ABOVE <= ln.box[3] <= top + _NEAR]
    label = to_left or max(above, key=lambda ln: ln.box[3], default=None)
    if label is None:
        return f"{field.name}: {field.value}" if field.name else field.value
    label.text = f"{label.text.strip()} {field.value}"
    return None


def _text(line: dict[str, Any]) -> str:
    return "".join(
        span["text"].translate(_DINGBATS) if "dingbats" in span["font"].casefold() else span["text"]
        for span in line["spans"]
    )
