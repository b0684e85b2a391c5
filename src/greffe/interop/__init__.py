"""Models from and for other libraries."""
