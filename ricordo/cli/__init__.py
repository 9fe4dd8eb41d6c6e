"""The command line: one file for each command or group of commands; begin with `app.py`.

`talk` is the chat, `parts` what the commands share. It may use everything, and nothing uses it.
"""
