"""Scripts of the project itself; not part of the package."""
