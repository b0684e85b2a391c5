"""What a study or a run found, as a page to read. Knows documents, never models or training."""
