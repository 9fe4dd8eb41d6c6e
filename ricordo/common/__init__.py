"""The ground floor: errors (where to begin), settings, and what is done with text, words, sentences and moments.

It uses nothing of the other packages.
"""
