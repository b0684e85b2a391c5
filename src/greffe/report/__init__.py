"""Reports of studies and runs: HTML, Markdown, CSV. Knows documents, not models or training."""
