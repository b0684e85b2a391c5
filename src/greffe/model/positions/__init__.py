"""Position schemes: how a base represents the position of a token. One file per kind.

Adding one: a file here with a PositionSpec and a PositionScheme. It is imported, and thereby
registered, with the package.
"""

from greffe.config.registry import import_modules

import_modules(__name__, __path__)
