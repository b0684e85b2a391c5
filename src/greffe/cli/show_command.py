"""The verb show: parameters block by block, the attention mask, the positional encoding."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greffe.cli import flags
from greffe.cli.json_output import print_json
from greffe.config.bounds import Drawn
from greffe.errors import InputError, RecipeError
from greffe.progress import notice

if TYPE_CHECKING:
    from greffe.config.components import HeadSpec
    from greffe.config.recipe import Recipe
    from greffe.run import RunDirectory

DRAWINGS = ("mask", "positions")
TEXT_TOKENS = 24
FIGURE_TOKENS = 16  # of a mask
FIGURE_PAIRS = 64  # positions that are drawn in pairs


def show(
    target: Annotated[
        str,
        typer.Argument(
            metavar="RUN|RECIPE|mask|positions",
            help="What to show, such as greffe-fr, runs/base, small or hf:owner/name.",
        ),
    ],
    of: Annotated[
        str,
        typer.Argument(metavar="[RUN|RECIPE]", help="With mask and positions: the run or recipe."),
    ] = "lab",
    as_json: flags.Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="With mask and positions: a .png or .svg file.")
    ] = None,
    size: Annotated[
        int, flags.number(Drawn, help="With mask and positions: number of tokens.")
    ] = 0,
) -> None:
    """Show a model's parameters, attention mask or positions.

    Parameters are listed block by block, by formula and by count.
    """
    if target in DRAWINGS:
        if as_json:
            raise InputError(
                f"--json prints the parameters of a run or recipe, not its {target}.",
                hint=f"greffe show {of} --json",
            )
        _draw(target, *_recipe_of(of), out, size)
        return
    if out is not None or size:
        raise InputError(
            f"--out and --size draw the mask or the positions, not {target}.",
            hint=f"greffe show mask {target} --out mask.png",
        )
    from greffe.cli.terminal_tables import account_table, print_tables, run_tables
    from greffe.model.memory import format_bytes
    from greffe.model.parameters import account, default_heads, with_published
    from greffe.pipelines.sources import is_foreign, open_source
    from greffe.run import run_path

    is_run = run_path(target).is_dir() or is_foreign(target)
    manifest = open_source(target).manifest() if is_run else None
    tables = run_tables(target, manifest) if manifest else []
    found: dict[str, Any] = {}
    sentence = ""
    if manifest is None or manifest.lineage.initial_base:  # TF-IDF alone has no base
        recipe, _ = _recipe_of(target)
        heads: dict[str, HeadSpec] = manifest.heads if manifest else default_heads(recipe.model)
        vocab = manifest.vocab if manifest else recipe.tokenizer.vocab
        counted = account(recipe.model, vocab, heads)
        if manifest and (imported := manifest.imported):
            counted = with_published(counted, recipe.model, imported.folded, imported.parameters)
        found = {"name": recipe.name, **counted.to_json(), "recipe": recipe.model_dump(mode="json")}
        tables.append(account_table(counted, recipe.name))
        if manifest is None and recipe.objective.kind != "classification":
            from greffe.pipelines.pretrain import pretraining_need

            need = pretraining_need(recipe)
            found["memory"] = {**asdict(need), "total": need.total}
            sentence = f"Pretraining needs about {format_bytes(need.total)} of memory: {need}."
        if manifest is not None and recipe.train.adapted_blocks(recipe.model.layers):
            from greffe.model.formulas import lora_formula

            formula, trained = lora_formula(recipe.model, vocab, heads.values(), recipe.train)
            found["lora"] = {"formula": formula, "trained": trained}
            sentence = f"LoRA trained {trained:,} parameters: {formula}."
    if manifest:
        found["run"] = manifest.model_dump(mode="json")
    if as_json:
        print_json(found, indent=2)
    else:
        print_tables(tables)
        print(sentence, end="\n" if sentence else "")


def _recipe_of(name: str) -> tuple[Recipe, RunDirectory | None]:
    """Return the recipe of a run or a shipped base, or a recipe by name or path."""
    from greffe.config.recipe_files import load_recipe
    from greffe.pipelines.sources import is_foreign, open_base
    from greffe.run import or_a_shipped_base, run_path

    if run_path(name).is_dir() or is_foreign(name):
        from greffe.training.checkpoint import check_recipe

        run = open_base(name)
        check_recipe(run)
        return run.recipe(), run
    try:
        return load_recipe(name), None
    except RecipeError as error:
        if Path(name).is_file():  # the file exists, but is not a valid recipe
            raise
        raise RecipeError(
            f"There is no run and no recipe {name!r}.",
            expected=f"a run, {error.expected}{or_a_shipped_base()}",
            found=error.found,
            hint=error.hint,
        ) from None


def _draw(kind: str, recipe: Recipe, run: RunDirectory | None, out: Path | None, size: int) -> None:
    from greffe.inference.drawing import check_figure, draw_text, save_figure
    from greffe.inference.model_diagrams import mask_diagram, positions_diagram
    from greffe.training.checkpoint import load_model

    if out is not None:
        check_figure(out)
    if run is not None:
        manifest = run.manifest()
        is_causal = (manifest.direction or manifest.directions[0]) == "causal"
    else:
        is_causal = recipe.objective.directions[0] == "causal"
    if kind == "mask":
        diagram = mask_diagram(is_causal, size or (TEXT_TOKENS if out is None else FIGURE_TOKENS))
    else:
        # Learned positions are drawn with the run's weights.
        scheme = load_model(run).base.position if run else None
        model = recipe.model
        longest = FIGURE_PAIRS if model.position.is_pairwise else model.context
        tokens = TEXT_TOKENS if out is None else min(model.context, longest)
        diagram = positions_diagram(model, size or tokens, scheme)
    if out is None:
        print(draw_text(diagram))
    else:
        save_figure(diagram, out)
        notice(f"drawn: {out}")
