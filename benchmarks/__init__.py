"""Benchmarks of greffe against common alternatives on this machine: `python -m benchmarks`.

Not part of the installed package. README.md explains what is measured and how to read it.
"""
