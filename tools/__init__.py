"""The shipped tools, one file a family: importing this package registers them in the process's toolbox."""

from stores.toolbox import toolbox  # first: the families register in it
from tools import arxiv, catalogue, context, documents, memory, time, web

__all__ = ["arxiv", "catalogue", "context", "documents", "memory", "time", "toolbox", "web"]
