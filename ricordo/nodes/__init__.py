"""The phases of a turn: one file each, one async function named as the file; begin with `assemble_context.py`.

A node returns the keys of the state that it changed. It uses what `graph` shares, and never another node.
"""

if __name__ != "ricordo.nodes":
    raise ImportError(
        "'nodes' at the top of the repository is a link: write `ricordo.nodes`, or `from ricordo import …`."
    )
