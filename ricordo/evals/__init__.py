"""How well things are found and how long they take, measured on data that is given or made up; begin with `metrics.py`.

It may use everything below the command line, and works on scratch databases.
"""
