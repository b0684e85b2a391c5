"""Runs as ONNX graphs: written from the weights, and used through onnxruntime without torch."""
