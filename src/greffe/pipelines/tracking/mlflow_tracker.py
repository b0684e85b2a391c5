"""MLflow: a run on the server that MLFLOW_TRACKING_URI names, or in a folder beside the run's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from greffe.pipelines.tracking.tracker import (
    Ending,
    Line,
    RunFacts,
    Tracker,
    remember_id,
    remembered_id,
)
from greffe.run import INTERMEDIATE

EXPERIMENT = "greffe"
STORE = "mlruns"
MOST_METRICS, MOST_PARAMETERS = 1000, 100
"""In one request."""
LONGEST_VALUE = 500
STATUS: dict[Ending, str] = {
    "finished": "FINISHED",
    "interrupted": "KILLED",
    "failed": "FAILED",
}


class MlflowTracker(Tracker):
    """A run of MLflow; its id is remembered for when the run is resumed."""

    name = "mlflow"
    library = "mlflow"
    environment: ClassVar[Mapping[str, str]] = {
        # An unreachable server is given up after seconds; by default it takes minutes.
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
        "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
        # Since version 3, a folder is refused unless this is set.
        "MLFLOW_ALLOW_FILE_STORE": "true",
        # Standard output is for results.
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }

    def __init__(self, run: RunFacts) -> None:
        self.mlflow: Any = import_module("mlflow")
        self.entities: Any = import_module("mlflow.entities")
        uri = None if self.mlflow.is_tracking_uri_set() else _store_beside(run.folder)
        self.client: Any = self.mlflow.MlflowClient(tracking_uri=uri)
        known = remembered_id(run, self.name)
        resumed = None if known is None else self._find(known)
        self.id = self._create(run) if resumed is None else resumed
        self.last_steps = {} if resumed is None else self._last_steps()

    def log(self, lines: Sequence[Line]) -> None:
        metrics = [
            self.entities.Metric(name, value, round(line.time * 1000), line.step)
            for line in lines
            for name, value in line.figures.items()
            if line.step > self.last_steps.get(name, -1)
        ]
        for start in range(0, len(metrics), MOST_METRICS):
            self.client.log_batch(self.id, metrics=metrics[start : start + MOST_METRICS])

    def finish(self, result: Line) -> None:
        self.log([result])

    def close(self, ending: Ending) -> None:
        self.client.set_terminated(self.id, STATUS[ending])

    def _create(self, run: RunFacts) -> str:
        tags = {f"greffe.{key}": value[:LONGEST_VALUE] for key, value in run.tags.items()}
        created = self.client.create_run(self._experiment(), run_name=run.name, tags=tags)
        identifier = str(created.info.run_id)
        parameters = [
            self.entities.Param(key, str(value)[:LONGEST_VALUE])
            for key, value in run.parameters.items()
        ]
        for start in range(0, len(parameters), MOST_PARAMETERS):
            part = parameters[start : start + MOST_PARAMETERS]
            self.client.log_batch(identifier, params=part)
        remember_id(run, self.name, identifier)
        return identifier

    def _experiment(self) -> str:
        """Return the id of the user's experiment, or of ours, which may be new."""
        if identifier := os.environ.get("MLFLOW_EXPERIMENT_ID"):
            return identifier
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        if (found := self.client.get_experiment_by_name(name)) is not None:
            return str(found.experiment_id)
        try:
            return str(self.client.create_experiment(name))
        except self.mlflow.MlflowException:  # another process may have created it in between
            if (found := self.client.get_experiment_by_name(name)) is None:
                raise
            return str(found.experiment_id)

    def _find(self, identifier: str) -> str | None:
        """Return the id of a run that is on this server, which may not be the one of before."""
        try:
            self.client.update_run(identifier, status="RUNNING")
        except self.mlflow.MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return None
            raise
        return identifier

    def _last_steps(self) -> dict[str, int]:
        """Return the last step of each metric: MLflow can neither remove nor replace figures."""
        names = self.client.get_run(self.id).data.metrics
        histories = {name: self.client.get_metric_history(self.id, name) for name in names}
        return {name: max(each.step for each in found) for name, found in histories.items()}


def _store_beside(folder: Path) -> str:
    """Return the address of a folder that all runs in the same place share."""
    run = folder.resolve()
    outermost = run.parent if run.name == INTERMEDIATE else run
    return (outermost.parent / STORE).as_uri()
