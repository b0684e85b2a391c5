"""Read the tokenizer from a model's folder in Hugging Face format.

`tokenizer.json` has the vocabulary and the steps; `tokenizer_config.json` and
`special_tokens_map.json` say which tokens are special, and some settings that replace those of
`tokenizer.json`. What wins over what is as in the transformers library.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from tokenizers import AddedToken
from tokenizers import Tokenizer as Backend

from greffe.data.foreign_backend import check_size, guarded, open_backend
from greffe.data.foreign_tokenizer import ForeignTokenizer, format_foreign
from greffe.data.foreign_tokenizer_file import KEY, Role, Tree, checked
from greffe.data.row_template import read_template
from greffe.data.spelling import all_steps
from greffe.data.tokenizer import Tokenizer, is_unicode
from greffe.errors import CorruptError, DataError
from greffe.parsing import parse_json
from greffe.storage import read_json

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"
SPECIALS_FILE = "special_tokens_map.json"
ROLES: tuple[Role, ...] = get_args(Role)
_SLOW = (
    *("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model"),
    *("tokenizer.model", "tekken.json"),
)
_GENERIC = ("PreTrainedTokenizerFast", "TokenizersBackend")
"""Classes of transformers that use tokenizer.json as it is."""
_KNOWN_NAMES: dict[Role, tuple[str, ...]] = {
    "cls": ("[CLS]",),
    "sep": ("[SEP]",),
    "bos": ("<s>", "<|begin_of_text|>", "<|startoftext|>", "<|endoftext|>"),
    "eos": ("</s>", "<|end_of_text|>", "<|endoftext|>", "<|im_end|>"),
    "pad": ("[PAD]", "<pad>", "<|padding|>", "<|pad|>"),
    "unk": ("[UNK]", "<unk>"),
    "mask": ("[MASK]", "<mask>"),
}


def read_foreign_tokenizer(folder: Path, vocab: int) -> Tokenizer:
    """Return the tokenizer of a model whose embedding has `vocab` rows."""
    path = folder / TOKENIZER_FILE
    if not path.exists():
        raise _no_tokenizer(folder)
    try:
        tree = checked(read_json(path, "a tokenizer of the tokenizers library"))
        config = _read_settings(folder / CONFIG_FILE)
        named = _named_tokens(config, folder / SPECIALS_FILE)
        _replace_steps(tree, config)
        roles = _add_tokens(tree, config, named, vocab)
        return ForeignTokenizer(format_foreign({KEY: {"roles": roles, "vocab": vocab}, **tree}))
    except CorruptError as error:
        if str(folder) in error.message:
            raise
        message = error.message[0].lower() + error.message[1:]
        raise CorruptError(
            f"{path}: {message}", expected=error.expected, found=error.found, hint=error.hint
        ) from None


def _no_tokenizer(folder: Path) -> DataError:
    slow = [name for name in _SLOW if (folder / name).exists()]
    if slow:
        return DataError(
            f"{folder} has a slow tokenizer only.",
            expected=f"a {TOKENIZER_FILE}",
            found=", ".join(slow),
            hint="convert it with the transformers library: "
            f'AutoTokenizer.from_pretrained("{folder}").save_pretrained("{folder}")',
        )
    return DataError(
        f"{folder} has no tokenizer.",
        expected=f"a {TOKENIZER_FILE}",
        found="no such file",
        hint="download the whole folder of the model, or save its tokenizer there with "
        "AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)",
    )


def _read_settings(path: Path) -> Tree:
    if not path.exists():
        return {}
    settings = read_json(path, "settings of a tokenizer")
    if not isinstance(settings, dict):
        raise CorruptError(f"{path} is damaged.", expected="a JSON object", found="another value")
    return settings


# --- special tokens -------------------------------------------------------------------------------


def _named_tokens(config: Tree, specials: Path) -> Tree:
    """Return what the files say of special tokens: a string or an object for each name."""
    # A configuration that lists its added tokens is complete; older ones are not.
    is_complete = "added_tokens_decoder" in config
    return config if is_complete else {**config, **_read_settings(specials)}


def _add_tokens(tree: Tree, config: Tree, named: Tree, vocab: int) -> dict[Role, str]:
    """Add the special tokens of the other files to the tree; return the tokens by role."""
    backend = open_backend(tree)
    check_size(backend, vocab)
    listed = config.get("added_tokens_decoder")
    tokens = [
        token
        for _, item in sorted(_numbered(listed).items())
        if (token := _added_token(item)) is not None
    ]
    given = {role: _added_token(named.get(f"{role}_token")) for role in ROLES}
    extra = named.get("extra_special_tokens") or named.get("additional_special_tokens") or []
    known = {token.content for token in backend.get_added_tokens_decoder().values()}
    known |= {token.content for token in tokens}
    for item in [*given.values(), *(extra if isinstance(extra, list) else [])]:
        token = item if isinstance(item, AddedToken) else _added_token(item)
        if token is not None and token.content not in known:
            token.special = True
            tokens.append(token)
            known.add(token.content)
    for token in tokens:
        # A new token needs a row of the embedding; one without a row is unused.
        if backend.token_to_id(token.content) is not None or _next_id(backend) < vocab:
            guarded("A special token cannot be added.", backend.add_tokens, [token])
    tree["added_tokens"] = parse_json(backend.to_str())["added_tokens"]
    roles = {
        role: token.content
        for role, token in given.items()
        if token is not None and backend.token_to_id(token.content) is not None
    }
    return _inferred_roles(tree, backend, vocab) | roles


def _next_id(backend: Backend) -> int:
    return max(len(backend.get_vocab()), max(backend.get_vocab().values()) + 1)


def _numbered(listed: Any) -> dict[int, Any]:
    if listed is None:
        return {}
    if not isinstance(listed, dict) or not all(str(id).isdecimal() for id in listed):
        raise CorruptError(
            f"{CONFIG_FILE} is damaged.",
            expected="added_tokens_decoder with a token for each id",
            found=f"{listed!r:.60}",
        )
    return {int(id): token for id, token in listed.items()}


def _added_token(item: Any) -> AddedToken | None:
    """Return a token of a file, which is a string or an object with flags."""
    if isinstance(item, str):
        item = {"content": item, "normalized": False, "special": True}
    content = item.get("content") if isinstance(item, dict) else None
    if not isinstance(content, str) or not content or not is_unicode(content):
        return None
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    given = {flag: item[flag] for flag in flags if isinstance(item.get(flag), bool)}
    return AddedToken(content, **given)


def _inferred_roles(tree: Tree, backend: Backend, vocab: int) -> dict[Role, str]:
    """Return roles from the template, the model and well-known names."""
    names = set(backend.get_vocab())
    found: dict[Role, str] = {
        role: next(name for name in known if name in names)
        for role, known in _KNOWN_NAMES.items()
        if not names.isdisjoint(known)
    }
    model = tree["model"]
    unknown = model.get("unk_token")
    if model["type"] == "Unigram" and model.get("unk_id") is not None:
        unknown = model["vocab"][model["unk_id"]][0]
    if isinstance(unknown, str) and unknown in names:
        found["unk"] = unknown
    before, after = read_template(tree.get("post_processor"), vocab)
    for role, ids in (("bos", before), ("eos", after)):
        if ids and (name := backend.id_to_token(ids[0])) is not None:
            found[role] = name  # type: ignore[index]
    return found


# --- settings that replace parts of tokenizer.json ------------------------------------------------


_BERT_SETTINGS = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}


def _replace_steps(tree: Tree, config: Tree) -> None:
    """Follow the settings of a model's own class, which win over the steps of the file."""
    if config.get("tokenizer_class") in _GENERIC:
        return
    for step in all_steps(tree.get("normalizer")):
        if step["type"] == "BertNormalizer":
            step |= {own: config[name] for name, own in _BERT_SETTINGS.items() if name in config}
    adds_space = config.get("add_prefix_space")
    for step in all_steps(tree.get("pre_tokenizer")):
        if step["type"] == "ByteLevel" and isinstance(adds_space, bool):
            step["add_prefix_space"] = adds_space
