"""Code that exported folders carry along, for models that no class of transformers expresses.

greffe copies these files and never imports them: they need transformers, and only torch besides.
"""
