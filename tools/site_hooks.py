"""Hooks of the documentation site: the reference is written from the code while mkdocs builds.

Nothing here is committed twice: verbs and flags come from the command's own parser, recipe keys
from the pydantic models, exit codes from the exception classes, the schema of report.json from
StudyDocument, the files of a run from the docstring of greffe.run.
"""

from __future__ import annotations

import enum
import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import greffe
from greffe import errors, run
from greffe.cli.main import app
from greffe.config.registry import Component
from greffe.config.spec import Spec
from greffe.study.document import StudyDocument

ROOT = Path(__file__).parents[1]

COPIES = {
    "changelog.md": "CHANGELOG.md",
    "architecture.md": "ARCHITECTURE.md",
    "contributing.md": "CONTRIBUTING.md",
    "reference/greffe-fr.md": "src/greffe/bases/greffe-fr/README.md",
}
"""Pages whose source lies elsewhere in the repository."""

RECIPE_INTRO = """\
Every choice of a run is a key of its recipe: a TOML file with sections. A key that is left out has
the default below. Change one key for one run with `--set section.key=value`; see
[Write your own recipe](../how-to/write-a-recipe.md).
"""
PYTHON_INTRO = """\
Everything public is a name of `greffe`: `import greffe`, then `greffe.pretrain(…)`. Functions
first, then classes. The last class is imported from `greffe.sklearn`, which loads scikit-learn.
"""
ERRORS_INTRO = """\
A foreseen error is a message on standard error and an exit code, never a traceback. A message has
up to four parts: what is wrong, what was expected, what was found, and what to do next. In Python
the same errors are exceptions of `greffe.errors`; `greffe.GreffeError` catches them all.
"""
RUN_INTRO = """\
Every command that trains something writes a run: one folder. It contains what it needs, so it can
be moved and copied.
"""
REPORT_INTRO = """\
`greffe compare` writes everything that a study found to `report.json` in the study's folder;
`greffe compare --json` prints the same. Accuracies and differences are fractions, not percentages.
"""


# --- mkdocs calls these ---------------------------------------------------------------------------


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace `folder/*` in the navigation with the folder's pages."""
    config.nav = _expanded(config.nav or [], Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and the copies."""
    pages = {f"reference/{name}": text for name, text in reference_pages().items()}
    pages |= {page: _moved(source, page) for page, source in COPIES.items()}
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


# --- navigation -----------------------------------------------------------------------------------


def _expanded(item: Any, docs: Path) -> Any:
    """The same navigation with `folder/*` listed; a folder without pages is left out."""
    if isinstance(item, list):
        return [found for entry in item if (found := _expanded(entry, docs)) != {}]
    if isinstance(item, dict):
        ((title, value),) = item.items()
        if isinstance(value, str) and value.endswith("/*"):
            pages = _pages_of(value.removesuffix("/*"), docs)
            return {title: pages} if pages else {}
        return {title: _expanded(value, docs)}
    return item


def _pages_of(folder: str, docs: Path) -> list[str]:
    names = {file.name for file in (docs / folder).glob("*.md")}
    if folder == "reference":
        return [f"reference/{name}" for name in [*reference_pages(), "greffe-fr.md"]]
    names_in_order = sorted(names)
    index = [name for name in names_in_order if name in ("index.md", "README.md")]
    rest = [name for name in names_in_order if name not in index]
    return [f"{folder}/{name}" for name in [*index, *rest]]


# --- copies ---------------------------------------------------------------------------------------


def _moved(source: str, page: str) -> str:
    """A file of the repository as a page, with links that work from there."""
    folder = Path(page).parent
    pages = {Path(file): Path(name) for name, file in COPIES.items()}

    def link(match: re.Match[str]) -> str:
        text, target, anchor = match["text"], match["target"], match["anchor"] or ""
        path = (Path(source).parent / target).as_posix()
        target_page = pages.get(Path(path)) or (
            Path(path).relative_to("docs") if path.startswith("docs/") else None
        )
        if target_page is None:  # not part of the site
            return f"{text} (`{path}`)"
        ups = "../" * len(folder.parts)
        return f"[{text}]({ups}{target_page.as_posix()}{anchor})"

    text = (ROOT / source).read_text("utf-8")
    pattern = r"\[(?P<text>[^\]]*)\]\((?!https?:)(?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)"
    return re.sub(pattern, link, text)


# --- the reference --------------------------------------------------------------------------------


def reference_pages() -> dict[str, str]:
    """Every generated page of the reference, by file name."""
    return {
        "commands.md": _commands(),
        "recipe.md": _recipe(),
        "python.md": _python(),
        "run-files.md": _run_files(),
        "report-json.md": _report_json(),
        "exit-codes.md": _exit_codes(),
    }


def _commands() -> str:
    group: Any = typer.main.get_command(app)
    parts = ["# Commands", str(group.help), "Options before the verb:", _flags(group)]
    parts.append(
        "Results are printed to standard output, messages to standard error. "
        "`greffe VERB --help` prints the same texts in the terminal."
    )
    rows = [(f"[`{name}`](#{name})", _first_line(verb.help)) for name, verb in _verbs(group)]
    parts.append(_table(("verb", "what it does"), rows))
    for name, verb in _verbs(group):
        first, _, more = inspect.cleandoc(verb.help or "").partition("\n")
        arguments = [param for param in verb.params if param.param_type_name == "argument"]
        placeholders = [_placeholder(param) for param in arguments]
        needed = [
            f"{param.opts[0]} {_metavar(param)}"
            for param in verb.params
            if param.param_type_name == "option" and param.required
        ]
        usage = " ".join(["greffe", name, *placeholders, *needed, "[OPTIONS]"])
        parts += [f"## {name}", first, more.strip(), f"```text\n{usage}\n```"]
        if arguments:
            rows = [(f"`{_placeholder(p)}`", _cell(getattr(p, "help", ""))) for p in arguments]
            parts.append(_table(("argument", "meaning"), rows))
        parts.append(_flags(verb))
    return _joined(parts)


def _verbs(group: Any) -> Iterator[tuple[str, Any]]:
    yield from ((name, verb) for name, verb in group.commands.items() if not verb.hidden)


def _placeholder(param: Any) -> str:
    name = (param.metavar or param.name.upper()).strip("[]")
    name = f"{name}…" if param.nargs == -1 else name
    return name if param.required else f"[{name}]"


def _flags(verb: Any) -> str:
    rows = []
    for param in verb.params:
        if param.param_type_name != "option" or param.hidden:
            continue
        names = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts])
        value = "" if param.is_flag else f"`{_metavar(param)}`"
        rows.append((names, value, _default(param), _cell(param.help or "")))
    return _table(("option", "value", "default", "meaning"), rows)


def _metavar(param: Any) -> str:
    """What an option takes, by its annotation."""
    if param.metavar:
        return str(param.metavar)
    hint = param.type_descriptor.annotation
    is_plain = get_origin(hint) in (None, Literal)
    kind = hint if is_plain else next(k for k in get_args(hint) if k is not type(None))
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "|".join(str(choice.value) for choice in kind)
    names = {int: "INTEGER", float: "NUMBER", Path: "PATH"}
    return names.get(kind, "TEXT")


def _default(param: Any) -> str:
    if param.required:
        return "**required**"
    value = param.default
    if value is None or value == () or param.is_flag:
        return "on" if param.is_flag and value is True else ""
    return f"`{value.value if isinstance(value, enum.Enum) else value}`"


def _recipe() -> str:
    parts = [
        "# Recipe keys",
        RECIPE_INTRO,
    ]
    parts += _section("", greffe.Recipe)
    return _joined(parts)


def _section(path: str, model: type[BaseModel]) -> list[str]:
    """A section's keys as a table, then its subsections."""
    rows, below = [], []
    for name, field in model.model_fields.items():
        key = f"{path}.{name}" if path else name
        section = _model(field.annotation)
        if section is None:
            rows.append(_row(model, name, field))
        elif issubclass(section, Component) and "package" in vars(section):
            below += _family(key, field, section)
        else:
            below += _section(key, section)
    title = f"## `[{path}]`" if path else "## Top level"
    return [title, _doc(model), _table(("key", "type", "default", "meaning"), rows), *below]


def _family(key: str, field: FieldInfo, family: type[Component]) -> list[str]:
    """The kinds of a component, each with its keys."""
    default = field.get_default(call_default_factory=True).kind
    parts = [f"## `[{key}]`", f"{_doc(family)} Choose one by `kind`; the default is `{default}`."]
    for kind, model in family.kinds().items():
        parts += [f'### `kind = "{kind}"`', _doc(model)]
        if model in (other.annotation for other in greffe.Recipe.model_fields.values()):
            parts.append(f"In the recipe of a fine-tuned run; its keys are those of `[{kind}]`.")
            continue
        rows = [_row(model, name, f) for name, f in model.model_fields.items() if name != "kind"]
        parts += [_table(("key", "type", "default", "meaning"), rows)] if rows else []
    return parts


def _row(model: type[BaseModel], name: str, field: FieldInfo) -> tuple[str, str, str, str]:
    return f"`{name}`", _type(field), _value(field.default), _cell(_described(model, name))


def _described(model: type[BaseModel], name: str) -> str:
    """The description of a field, from the nearest class that gives one."""
    return model.help_texts().get(name, "") if issubclass(model, Spec) else ""


def _model(annotation: Any) -> type[BaseModel] | None:
    """The model of a field that is a section; none for a plain key."""
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return annotation if is_model else None


def _type(field: FieldInfo) -> str:
    limits = [_limit(item) for item in field.metadata]
    return ", ".join([_plain(field.annotation), *(limit for limit in limits if limit)])


def _plain(annotation: Any) -> str:
    """A type as a reader of TOML knows it."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        limits = [_limit(item) for meta in more for item in getattr(meta, "metadata", [meta])]
        return " ".join([_plain(inner), *(limit for limit in limits if limit)])
    if origin is Literal:
        return " ".join(f"`{value}`" for value in get_args(annotation))
    if origin in (Union, types.UnionType):
        return " or ".join(_plain(member) for member in get_args(annotation))
    if origin in (list, tuple):
        members = [member for member in get_args(annotation) if member is not Ellipsis]
        return "list of " + ", ".join(dict.fromkeys(map(_plain, members)))
    if origin is dict:
        return "table of " + _plain(get_args(annotation)[1])
    names = {int: "integer", float: "number", str: "text", bool: "true or false"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


_SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def _limit(item: Any) -> str:
    return " ".join(
        f"{sign} {getattr(item, name):,.10g}"
        for name, sign in _SIGNS.items()
        if getattr(item, name, None) is not None
    )


def _value(default: Any) -> str:
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, str):
        return f'`"{default}"`'
    if isinstance(default, tuple):
        return f"`{list(default)}`"
    return f"`{default}`"


def _python() -> str:
    functions = sorted(name for name in dir(greffe) if name[0].islower())
    classes = sorted(name for name in dir(greffe) if name[0].isupper())
    parts = ["# Python API", PYTHON_INTRO]
    for name in functions:
        parts += _function(name)
    parts += [f"::: {getattr(greffe, name).__module__}.{name}" for name in classes]
    parts.append("::: greffe.sklearn.GreffeClassifier")
    return _joined(parts)


def _function(name: str) -> list[str]:
    """A function as it is called: the fields of option groups are parameters like all others."""
    function = getattr(greffe, name)
    signature = inspect.signature(function)
    text, _, options = _doc(function).partition("\nOptions:\n")
    meanings = dict(line.strip().split(": ", 1) for line in options.splitlines() if ": " in line)
    rows, names = [], []
    for parameter in signature.parameters.values():
        is_needed = parameter.default is parameter.empty
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        names += [parameter.name] if is_needed else []
        rows.append(
            (
                f"`{parameter.name}`",
                f"`{_written(parameter.annotation)}`".replace("|", "\\|"),
                "**required**" if is_needed else f"`{parameter.default!r}`",
                _cell(meanings.get(parameter.name, "")),
            )
        )
    call = f"greffe.{name}({', '.join([*names, '…'])}) -> {_written(signature.return_annotation)}"
    table = _table(("parameter", "type", "default", "meaning"), rows)
    return [f"## {name}", f"```text\n{call}\n```", text.strip(), table]


def _written(annotation: Any) -> str:
    """An annotation as written in the source, without what is meant for the command line."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"^Annotated\[(.*), \w+\(.*\)\]$", r"\1", text)


def _exit_codes() -> str:
    rows = [("0", "", "The command did what was asked.")]
    for kind in _tree(errors.GreffeError):
        rows.append((str(kind.exit_code), f"`{kind.__name__}`", _cell(_doc(kind))))
    return _joined(
        [
            "# Exit codes and errors",
            ERRORS_INTRO,
            _table(("exit code", "exception", "meaning"), rows),
        ]
    )


def _tree(kind: type[errors.GreffeError]) -> Iterator[type[errors.GreffeError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)


def _run_files() -> str:
    _, *rest = inspect.cleandoc(run.__doc__ or "").split("\n\n")
    rows = []
    for line in "\n".join(rest).splitlines():
        name, meaning = re.split(r"\s{2,}", line.strip(), maxsplit=1)
        rows.append((f"`{name}`", _cell(meaning)))
    return _joined(["# Files of a run", RUN_INTRO, _table(("file or folder", "content"), rows)])


def _report_json() -> str:
    schema = StudyDocument.model_json_schema()
    parts = [
        "# Schema of report.json",
        REPORT_INTRO,
        "## StudyDocument",
        *_object(schema),
    ]
    for name, definition in schema["$defs"].items():
        parts += [f"## {name}", *_object(definition)]
    return _joined(parts)


def _object(schema: dict[str, Any]) -> list[str]:
    needed = schema.get("required", [])
    rows = [
        (
            f"`{name}`",
            _json_type(field),
            "yes" if name in needed else "",
            _cell(field.get("description", "")),
        )
        for name, field in schema.get("properties", {}).items()
    ]
    table = [_table(("field", "type", "required", "meaning"), rows)] if rows else []
    values = [", ".join(f"`{value}`" for value in schema.get("enum", []))]
    return [inspect.cleandoc(schema.get("description", "")), *table, *values]


def _json_type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_json_type(option) for option in field["anyOf"])
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        if "prefixItems" in field:
            return f"list: {', '.join(map(_json_type, field['prefixItems']))}"
        return f"list of {_json_type(field.get('items', {}))}"
    if field.get("type") == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"object of {_json_type(field['additionalProperties'])}"
    return str(field.get("type", "any"))


# --- Markdown -------------------------------------------------------------------------------------


def _doc(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def _first_line(text: str | None) -> str:
    return _cell((text or "").strip().partition("\n")[0])


def _cell(text: str) -> str:
    """Text on one line, with nothing that a table or HTML would take as markup."""
    plain = " ".join(text.split()).replace("|", "\\|")
    return re.sub(r"<(\w+)>", r"`<\1>`", plain)


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    lines = [" | ".join(row).replace("``", "") for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(f"| {line} |" for line in lines)


def _joined(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
