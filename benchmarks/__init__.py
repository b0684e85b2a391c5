"""Benchmarks: greffe beside what one would use otherwise, on this machine. `python -m benchmarks`.

Not part of the package and not installed with it. What is measured and how to read it: README.md.
"""
