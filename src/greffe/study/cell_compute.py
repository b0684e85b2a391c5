"""Where and in which precision a study computes: decided once, so that all cells are paired."""

from __future__ import annotations

from dataclasses import replace

from greffe.config.options import Training
from greffe.config.recipe import Recipe
from greffe.model.arithmetic import matrix_products
from greffe.study.folder import StudyManifest
from greffe.training.device import Compute, choose_compute, choose_device, warn_if_slow


def decide_compute(recipe: Recipe, begun: StudyManifest | None) -> Compute:
    """Return the device and precision of all cells of a study.

    `begun` is a study that is resumed: it keeps its own unless others are asked for. Cells in
    another precision have another key and are computed again.
    """
    device, precision = recipe.train.device, recipe.train.precision
    if device == "auto" and begun is not None and begun.device is not None:
        device = begun.device
    # A step of texts that fill half of the context.
    tokens = recipe.train.batch * recipe.model.context // (2 * recipe.train.accumulation)
    products = matrix_products(recipe.model, max(1, tokens))
    if precision != "auto" or begun is None or begun.precision is None:
        return choose_compute(device, precision, products, what="compare")
    compute = Compute(choose_device(device), begun.precision)
    advice = "--precision fp32 computes all trainings again"
    warn_if_slow(compute, products, "compare", begun="study", advice=advice)
    return compute


def with_compute(training: Training, compute: Compute) -> Training:
    """Return the options of the cells, with the device and precision of the study."""
    # Changes, and the last ones: a change of the user may say auto.
    chosen = [f"train.device={compute.device.type}", f"train.precision={compute.precision}"]
    return replace(training, changes=[*training.changes, *chosen])
