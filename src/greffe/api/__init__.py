"""The public face in Python: the verbs as functions, and runs and studies as objects.

Options are plain keywords: `finetune("greffe-fr", data="train.tsv", out="runs/a", budget="5m")`;
`help(greffe.finetune)` lists them. The command line calls the same functions. Names are listed in
`__init__.pyi` and loaded when they are first used: a prediction does not load what trains.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
