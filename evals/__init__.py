"""Measuring retrieval and speed."""
