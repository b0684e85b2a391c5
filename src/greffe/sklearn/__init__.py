"""greffe in scikit-learn: `GreffeClassifier` fine-tunes a base with `fit`, as any estimator.

Loads scikit-learn at once, and torch only when something is fitted, opened or predicted.
"""

from greffe.sklearn.classifier import GreffeClassifier

__all__ = ["GreffeClassifier"]
