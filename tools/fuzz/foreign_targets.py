"""Bases in Hugging Face format: configuration, weights, index of shards."""

from __future__ import annotations

from tools.fuzz.byte_changes import change_bytes
from tools.fuzz.foreign_world import FOREIGN, SHARDS, TORCH
from tools.fuzz.targets import Target, commands, file_at, write_to
from tools.fuzz.tensor_targets import change_tensors
from tools.fuzz.tree_changes import change_json

SETTINGS = {
    "config": ("config.json", FOREIGN, change_json),
    "index": ("model.safetensors.index.json", SHARDS, change_json),
    "tensors": ("model.safetensors", FOREIGN, change_tensors),
    "torch": ("pytorch_model.bin", TORCH, change_bytes),
}

TARGETS = tuple(
    Target(
        name=f"foreign-{name}",
        examples=file_at(f"{folder}/{file}"),
        change=change,
        place=write_to(f"{folder}/{file}"),
        actions=commands(f"import {folder} --out out"),
        parts=(folder,),
    )
    for name, (file, folder, change) in SETTINGS.items()
)
