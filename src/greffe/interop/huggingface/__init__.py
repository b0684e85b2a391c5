"""Bases in Hugging Face format, read and written. One file per family: its configuration, the names
of its tensors.

Adding one: a file in `families` with a Family, and a recipe of its name, which trains it from
nothing.
"""
