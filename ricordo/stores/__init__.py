"""Memory on PostgreSQL, a file for each kind; `manager.py` is the one door to all of them, and where to begin.

Four wings of machinery: `postgres`, `search`, `user_memory`, `toolbox`. It uses models, readers and the ground floor.
"""

if __name__ != "ricordo.stores":
    raise ImportError(
        "'stores' at the top of the repository is a link: write `ricordo.stores`, or `from ricordo import …`."
    )
