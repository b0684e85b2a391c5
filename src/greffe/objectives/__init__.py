"""Objectives: what is learned. Here data and model meet. One file per kind.

Adding one: a file here with its spec, a LanguageSpec, and its class, a LanguageObjective. It is
imported, and thereby registered, with the package.
"""

from greffe.config.registry import import_modules

import_modules(__name__, __path__)
