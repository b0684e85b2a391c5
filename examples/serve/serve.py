"""Serve a classifier that greffe exported as ONNX. Needs neither greffe nor torch."""

import os
from pathlib import Path
from typing import Annotated, Literal

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # onnxruntime reads it when it is imported

import numpy as np
import onnxruntime
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from tokenizers import Tokenizer

Text = Annotated[str, Field(max_length=20_000)]


class Texts(BaseModel):
    texts: list[Text] = Field(min_length=1, max_length=64)


class Prediction(BaseModel):
    label: str
    score: float
    probabilities: dict[str, float]


class TextInput(BaseModel):
    context: int  # most tokens of a text, with the special tokens around it
    empty: int  # what a text without any token is read as
    pad: int


class Export(BaseModel):
    """What is needed of export.json; a folder that is no classifier with a graph is refused."""

    task: Literal["classification"]
    linear: None
    labels: list[str]
    text: TextInput


folder = Path(os.environ.get("MODEL", "model"))
export = Export.model_validate_json((folder / "export.json").read_bytes())
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.encode_special_tokens = True  # "<mask>" in a text is text
tokenizer.enable_truncation(export.text.context)
session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
app = FastAPI()


@app.post("/predict")
def predict(body: Texts) -> list[Prediction]:
    rows = [row.ids or [export.text.empty] for row in tokenizer.encode_batch(body.texts)]
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, export.text.pad)
    ids[mask] = np.concatenate(rows)
    inputs = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
    (found,) = session.run(["probabilities"], inputs)  # [texts, labels]
    return [
        Prediction(
            label=export.labels[row.argmax()],
            score=row.max(),
            probabilities=dict(zip(export.labels, row.tolist(), strict=True)),
        )
        for row in found
    ]


@app.exception_handler(RequestValidationError)
def refuse(request: Request, error: RequestValidationError) -> JSONResponse:
    # FastAPI's own answer repeats the input, and fails if that cannot be written as JSON.
    problems = [{"loc": each["loc"], "msg": each["msg"]} for each in error.errors()]
    return JSONResponse({"detail": problems}, status_code=422)
