"""What the project itself is made with; not part of the package."""
