"""The shipped tools, one file a family, and how others join (`own.py`, `mcp.py`); `time.py` is the shortest example.

Importing this package registers them in the process's toolbox. Tools use what `graph` shares, and never a node.
"""

from ricordo.stores.toolbox.box import toolbox  # first: the families register in it
from ricordo.tools import arxiv, catalogue, context, documents, memory, time, web

__all__ = ["arxiv", "catalogue", "context", "documents", "memory", "time", "toolbox", "web"]
