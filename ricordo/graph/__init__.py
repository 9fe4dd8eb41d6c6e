"""The agent as a state machine: its wiring (`agent.py`, where to begin), its state, and what its nodes share.

It uses memory, models and the ground floor. Only the wiring knows the nodes, and only `resources.py` the tools.
"""

if __name__ != "ricordo.graph":
    raise ImportError(
        "'graph' at the top of the repository is a link: write `ricordo.graph`, or `from ricordo import …`."
    )
