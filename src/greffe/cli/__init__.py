"""The command line: verbs → functions of greffe.api. It parses and prints; no logic."""

from greffe.cli.main import main

__all__ = ["main"]
