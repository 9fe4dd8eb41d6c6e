"""What `ricordo doctor` looks at: a file for each part of the world, `all.py` (where to begin) for all at once."""
