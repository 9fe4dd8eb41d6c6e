"""The nodes: one phase of a turn each, one file each."""
