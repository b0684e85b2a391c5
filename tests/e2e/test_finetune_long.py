"""Fine-tuning on texts that are longer than the context."""

from __future__ import annotations

import json

import greffe


def test_texts_longer_than_the_context_are_read_in_windows(world, tmp_path, capsys):
    long = tmp_path / "long.tsv"
    rows = [line.split("\t") for line in world.train.read_text("utf-8").splitlines()]
    long.write_text("".join(f"{label}\t{f'{text} ' * 40}\n" for label, text in rows), "utf-8")
    notices = {}
    for how in ("cut", "windows"):
        greffe.finetune(
            world.base,
            data=long,
            valid=world.valid,
            out=tmp_path / how,
            budget="1epochs",
            changes=["train.threads=1", f"classification.long={how}"],
        )
        notices[how] = capsys.readouterr().err
    assert "training reads only their beginning" in notices["cut"]
    assert "training reads them in windows" in notices["windows"]
    tokens = {
        how: json.loads((tmp_path / how / "run.json").read_text("utf-8"))["result"]["tokens"]
        for how in notices
    }
    assert tokens["windows"] > 2 * tokens["cut"]
