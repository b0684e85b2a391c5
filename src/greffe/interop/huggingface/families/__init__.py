"""The families, one file each; importing the package registers them."""

from greffe.config.registry import import_modules

import_modules(__name__, __path__)
