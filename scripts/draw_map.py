# ruff: noqa: INP001 - a script, no package
"""Draws the map in CONTRIBUTING.md from the code: the packages with their arrows, and the way of one question.

`python scripts/draw_map.py` writes it, `--check` fails when what stands there is not what the code says.
"""

import argparse
import sys
from pathlib import Path

import grimp

from ricordo.graph.agent import graph as agent

FILE = Path(__file__).parents[1] / "CONTRIBUTING.md"
BEGIN, END = "<!-- map: made by scripts/draw_map.py -->", "<!-- end of map -->"
ROOMS = ("cli", "evals", "server", "tools", "nodes", "graph", "offline", "stores", "readers", "models", "common")
"""From the top floor down, as the layers in pyproject.toml."""


def _room(module: str) -> str:
    return [*module.split("."), ""][1]


def packages(imports: grimp.ImportGraph) -> list[str]:
    """Return the packages as a mermaid flowchart; an arrow that points up, one of the exceptions, is dotted."""
    arrows = {
        (_room(module), _room(imported))
        for module in imports.modules
        for imported in imports.find_modules_directly_imported_by(module)
    }
    lines = ["flowchart TD", *(f"    {room}[<b>{room}</b>]" for room in ROOMS[:-1])]
    for start, end in sorted(arrows):
        if start != end and {start, end} <= {*ROOMS[:-1]}:
            lines.append(f"    {start} {'-.->' if ROOMS.index(end) < ROOMS.index(start) else '-->'} {end}")
    return lines


def question(imports: grimp.ImportGraph) -> list[str]:
    """Return the way of a question through the graph as a mermaid flowchart, with what each node calls on."""
    drawn = agent.get_graph()
    names = {name: name.strip("_") for name in drawn.nodes}
    lines = ["flowchart LR"]
    for name, plain in names.items():
        if plain == name:
            below = imports.find_modules_directly_imported_by(f"ricordo.nodes.{name}")
            used = sorted(module.removeprefix("ricordo.") for module in below if _room(module) in {"graph", "stores"})
            shown = "<br/>".join(each for each in used if each.split(".")[-1] not in {"state", "timing", "context"})
            lines.append(f"    {name}[<b>{name}</b><br/>{shown}]")
        else:
            lines.append(f"    {plain}_([{'question' if plain == 'start' else 'answer'}])")
    for edge in drawn.edges:
        source, target = (f"{names[end]}_" if names[end] != end else end for end in (edge.source, edge.target))
        lines.append(f"    {source} {'-.->' if edge.conditional else '-->'} {target}")
    return lines


def main() -> None:
    """Write the map, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the map has drifted from the code")
    check = parser.parse_args().check
    imports = grimp.build_graph("ricordo", cache_dir=None, exclude_type_checking_imports=True)
    drawings = [
        ("Who imports whom; all import `common` besides:", packages(imports)),
        ("The way of one question, each node with the modules that it calls on:", question(imports)),
    ]
    made = "\n\n".join(f"{title}\n\n```mermaid\n{chr(10).join(lines)}\n```" for title, lines in drawings)
    text = FILE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"
    if check and new != text:
        sys.exit("error: the map in CONTRIBUTING.md is not what the code says: make map")
    if not check:
        FILE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
