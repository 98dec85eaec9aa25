"""The TensorBoard plugin: a tab, its static files, and JSON or float32 slices of what callbacks logged.

Reads through `context.data_provider` alone. TensorBoard stops where a plugin cannot be imported, so nothing is imported
here that TensorBoard does not need itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tensorboard import context as tensorboard_context
from tensorboard import errors, plugin_util
from tensorboard.backend import http_util
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from tensorboard_plugins.interp_rnn import schema
from tensorboard_plugins.interp_rnn.data import MOST_STEPS, Logs

STATIC = Path(__file__).parent / "static"

FILES = {
    "index.js": "text/javascript",
    "page.js": "text/javascript",
    "charts.js": "text/javascript",
    "states.js": "text/javascript",
    "transitions.js": "text/javascript",
    "contributions.js": "text/javascript",
    "jacobians.js": "text/javascript",
    "style.css": "text/css",
}
"""All that is served, by name: no request reaches the file system with a path of its own."""


class Plugin(base_plugin.TBPlugin):
    """Serves the tab "Interpretable RNN"."""

    plugin_name = schema.PLUGIN

    def __init__(self, context: base_plugin.TBContext) -> None:
        super().__init__(context)
        self._logs = Logs(context.data_provider)

    def get_plugin_apps(self) -> dict[str, Any]:
        served = {f"/{name}": _static(name) for name in FILES}
        asked = {
            "/tags": self.serve_tags,
            "/series": self.serve_series,
            "/graph": self.serve_graph,
            "/texts": self.serve_texts,
            "/slice": self.serve_slice,
        }
        return {**served, **asked}

    def is_active(self) -> bool:
        return False  # TensorBoard finds out from the data provider

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="Interpretable RNN")

    @wrappers.Request.application
    def serve_tags(self, request: wrappers.Request) -> wrappers.Response:
        """JSON: run -> tags."""
        return _json(request, self._logs.tags(*_where(request)))

    @wrappers.Request.application
    def serve_series(self, request: wrappers.Request) -> wrappers.Response:
        """JSON: a tag as a whole; arguments run, tag."""
        return _json(request, self._logs.series(*_where(request), _text(request, "run"), _text(request, "tag")))

    @wrappers.Request.application
    def serve_graph(self, request: wrappers.Request) -> wrappers.Response:
        """JSON: states and edges at a step; arguments run, tag, step."""
        run, tag, step = _text(request, "run"), _text(request, "tag"), _number(request, "step")
        return _json(request, self._logs.graph(*_where(request), run, tag, step))

    @wrappers.Request.application
    def serve_texts(self, request: wrappers.Request) -> wrappers.Response:
        """JSON: texts that belong to states and edges at a step; arguments run, tag, step."""
        run, tag, step = _text(request, "run"), _text(request, "tag"), _number(request, "step")
        return _json(request, self._logs.texts(*_where(request), run, tag, step))

    @wrappers.Request.application
    def serve_slice(self, request: wrappers.Request) -> wrappers.Response:
        """Little-endian float32, its shape in the header X-Shape; arguments run, tag, step, index (0 if missing)."""
        run, tag = _text(request, "run"), _text(request, "tag")
        step, index = _number(request, "step"), _number(request, "index", 0)
        found = self._logs.slice(*_where(request), run, tag, step, index)
        response = http_util.Respond(request, found.astype("<f4").tobytes(), "application/octet-stream")
        response.headers["X-Shape"] = ",".join(map(str, found.shape))
        return response


class Loader(base_plugin.TBLoader):
    """Makes the plugin, and has TensorBoard keep more steps of its tags than of others."""

    def fix_flags(self, flags: Any) -> None:
        kept = getattr(flags, "samples_per_plugin", None)
        if kept is not None:
            kept.setdefault(schema.PLUGIN, MOST_STEPS)

    def load(self, context: base_plugin.TBContext) -> Plugin | None:
        return None if context.data_provider is None else Plugin(context)


def _static(name: str) -> Any:
    @wrappers.Request.application
    def serve(request: wrappers.Request) -> wrappers.Response:
        return http_util.Respond(request, (STATIC / name).read_bytes(), FILES[name])

    return serve


def _where(request: wrappers.Request) -> tuple[tensorboard_context.RequestContext, str]:
    return plugin_util.context(request.environ), plugin_util.experiment_id(request.environ)


def _text(request: wrappers.Request, name: str) -> str:
    value = request.args.get(name)
    if value is None:
        raise errors.InvalidArgumentError(f"The request needs the argument {name}.")
    return value


def _number(request: wrappers.Request, name: str, otherwise: int | None = None) -> int:
    value = request.args.get(name)
    if value is None and otherwise is not None:
        return otherwise
    try:
        return int(_text(request, name))
    except ValueError:
        raise errors.InvalidArgumentError(f"{name} must be an integer. Received: {value!r}.") from None


def _json(request: wrappers.Request, found: Any) -> wrappers.Response:
    return http_util.Respond(request, json.dumps(found, allow_nan=False), "application/json")
