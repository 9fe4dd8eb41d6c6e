"""The chat: lines that come in (`lines.py`, where to begin), commands with a slash, turns as they are shown."""
