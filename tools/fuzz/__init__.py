"""Fuzzing of everything that greffe reads: `python -m tools.fuzz --inputs 50000 --seed 1`.

Each input is a valid file or command line with random changes. Reading it must succeed or end with
an error of `greffe.errors`, within limits of time and memory, and must leave the files as they are.

targets.py          Target: valid inputs, how they are changed, what reads them
*_targets.py        one family of targets each; all_targets.py lists them
world.py            the valid files and runs that inputs are made from
signing.py          hashes that fit the changed inputs
byte_changes.py     random changes of bytes
tree_changes.py     random changes of JSON and TOML values
execute.py          one input: place it, read it, check what happened
pool.py             many inputs, in processes with limits
tally.py            counts, and an input of each different problem
shrink.py           a smaller input with the same problem
"""
