"""Heads: what turns hidden states into answers. One file per kind; heads change, the base stays.

Adding one: a file here with a HeadSpec and a Head. It is imported, and thereby registered, with
the package.
"""

from greffe.config.registry import import_modules

import_modules(__name__, __path__)
