"""An ONNX graph under construction: nodes are added one by one and return the names of values.

Knows nothing of models. Only operators of the ONNX standard are used, so that any runtime can
compute the graph; onnxruntime fuses them when it opens it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from greffe.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import onnx

OPSET = 20
"""Of the operators: the first with Gelu as one of them. Newer ones have the same operators."""
PRODUCER = "greffe"
Value = str
"""The name of a value in the graph."""
Axes = Sequence[str | int]
"""The shape of an input or output: names of dynamic axes, sizes of fixed ones."""
Type = Literal["int64", "float32", "bool"]


class Graph:
    """Nodes and constants. With `int8`, matrices are quantized as they are added."""

    def __init__(self, *, int8: bool = False, opset: int = OPSET) -> None:
        self._onnx = import_onnx()
        check_opset(opset)
        self.is_int8 = int8
        self.opset = opset
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._shared: dict[tuple[Any, ...], Value] = {}
        self._quantized: dict[Value, tuple[Value, ...]] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    # --- nodes ------------------------------------------------------------------------------------

    def input(self, name: str, kind: Type, axes: Axes) -> Value:
        """Declare an input of the graph."""
        self._inputs.append(self._described(name, kind, axes))
        return name

    def output(self, value: Value, name: str, kind: Type, axes: Axes) -> None:
        """Make a value an output of the graph, under a name of its own."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._described(name, kind, axes))

    def add(self, op: str, *inputs: Value, **attributes: Any) -> Value:
        """Add a node with one output and return its name; an empty input is an omitted one."""
        (value,) = self.add_several(op, *inputs, outputs=1, **attributes)
        return value

    def add_several(
        self, op: str, *inputs: Value, outputs: int, **attributes: Any
    ) -> tuple[Value, ...]:
        """Add a node with several outputs and return their names."""
        number = len(self._nodes)
        names = tuple(f"{op.lower()}_{number}_{index}" for index in range(outputs))
        self._nodes.append(self._onnx.helper.make_node(op, list(inputs), list(names), **attributes))
        return names

    def constant(self, array: np.ndarray) -> Value:
        """Return a constant; equal ones are stored once."""
        # A scalar stays one.
        array = np.asarray(array, order="C")
        key = (array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest())
        if key not in self._shared:
            name = f"constant_{len(self._constants)}"
            self._constants.append(self._onnx.numpy_helper.from_array(array, name))
            self._shared[key] = name
        return self._shared[key]

    def integers(self, *values: int) -> Value:
        """Return a constant vector of integers, such as a shape or axes."""
        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> Value:
        """Return a constant scalar."""
        return self.constant(np.array(value, np.float32))

    def index(self, value: int) -> Value:
        """Return a constant scalar integer."""
        return self.constant(np.array(value, np.int64))

    def cast(self, value: Value, kind: Type) -> Value:
        """Return a value in another type."""
        return self.add("Cast", value, to=self._type(kind))

    # --- layers -----------------------------------------------------------------------------------

    def linear(self, x: Value, weight: np.ndarray, bias: np.ndarray | None) -> Value:
        """Return x [..., in] times weight [out, in] transposed, plus bias [out]."""
        if not self.is_int8:
            return self.exact_linear(x, weight, bias)
        rows, scales = quantized(weight)
        product = self._product_of_bytes(x, self.constant(rows.T), scales)
        return product if bias is None else self.add("Add", product, self.constant(bias))

    def exact_linear(self, x: Value, weight: np.ndarray, bias: np.ndarray | None) -> Value:
        """Return the same in fp32, also in a graph in int8."""
        product = self.add("MatMul", x, self.constant(weight.T.astype(np.float32)))
        return product if bias is None else self.add("Add", product, self.constant(bias))

    def lookup(self, table: np.ndarray, ids: Value) -> Value:
        """Return rows of a table [N, width] by ids [...]: [..., width]."""
        if not self.is_int8:
            return self.add("Gather", self.constant(table), ids)
        # Each row has its own scale: frequent and rare tokens have vectors of different lengths.
        rows, scales = quantized(table)
        found = self.cast(self.add("Gather", self.constant(rows), ids), "float32")
        return self.add("Mul", found, self.add("Gather", self.constant(scales[:, None]), ids))

    def scores(self, x: Value, table: np.ndarray, bias: np.ndarray) -> Value:
        """Return x [B, width] times every row of a table [N, width], plus bias [N].

        A table that `lookup` uses too is stored once.
        """
        if not self.is_int8:
            rows = self.constant(table)
            return self.add("Gemm", x, rows, self.constant(bias), transB=1)
        levels, scales = quantized(table)
        turned = self.add("Transpose", self.constant(levels), perm=(1, 0))
        product = self._product_of_bytes(x, turned, scales)
        return self.add("Add", product, self.constant(bias))

    def _product_of_bytes(self, x: Value, matrix: Value, scales: np.ndarray) -> Value:
        """Return x times a matrix [in, out] of bytes, in fp32; x is quantized in each call.

        The matrix has a scale for each output, and so no zero points.
        """
        if x not in self._quantized:
            self._quantized[x] = self.add_several("DynamicQuantizeLinear", x, outputs=3)
        levels, scale, zero = self._quantized[x]
        zeros = self.constant(np.zeros(len(scales), np.int8))
        sums = self.cast(self.add("MatMulInteger", levels, matrix, zero, zeros), "float32")
        return self.add("Mul", sums, self.add("Mul", scale, self.constant(scales)))

    # --- the model --------------------------------------------------------------------------------

    def model(self, name: str, metadata: Mapping[str, str]) -> bytes:
        """Return the checked model as the bytes of a file."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, name, self._inputs, self._outputs, initializer=self._constants
        )
        model = helper.make_model(
            graph,
            opset_imports=(opsets := [helper.make_opsetid("", self.opset)]),
            # The oldest file format that has the opset: others than the newest runtime read it.
            ir_version=helper.find_min_ir_version_for(opsets),
            producer_name=PRODUCER,
        )
        helper.set_model_props(model, dict(metadata))
        self._onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content

    def _described(self, name: str, kind: Type, axes: Axes) -> onnx.ValueInfoProto:
        described: onnx.ValueInfoProto = self._onnx.helper.make_tensor_value_info(
            name, self._type(kind), list(axes)
        )
        return described

    def _type(self, kind: Type) -> int:
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))


def import_onnx() -> Any:
    """Return the module onnx, which is optional."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("onnx", "onnx", "Export to ONNX") from None
    return onnx


def check_opset(opset: int) -> None:
    """Raise an error unless graphs can be written for this version of the operators."""
    newest = import_onnx().defs.onnx_opset_version()
    if not OPSET <= opset <= newest:
        raise InputError(
            f"Graphs cannot be written for opset {opset}.",
            expected=f"{OPSET} to {newest}",
            found=str(opset),
            hint=f"leave it out: {OPSET} is what most runtimes know"
            if opset < OPSET
            else "use a lower one, or install a newer onnx",
        )


def quantized(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows [N, M] as signed bytes, and the scale of each row [N]."""
    exact = rows.astype(np.float32)
    # A row of zeros keeps any scale; the smallest normal number avoids a division by zero.
    scales = np.maximum(np.abs(exact).max(axis=1) / 127, np.finfo(np.float32).tiny)
    return np.rint(exact / scales[:, None]).astype(np.int8), scales.astype(np.float32)
