"""Linear classifiers over TF-IDF and a base's features: baselines, and runs of their own."""
