"""The TensorBoard plugin: a tab, its static files, and the logs of callbacks as JSON or float32 slices.

It reads logs through `context.data_provider` alone. TensorBoard stops if a plugin cannot be imported, so this module
imports only dependencies of TensorBoard.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorboard import context as tensorboard_context
from tensorboard import errors, plugin_util
from tensorboard.backend import http_util
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from tensorboard_plugins.interp_rnn import document, schema, tokens
from tensorboard_plugins.interp_rnn.checks import list_of, names
from tensorboard_plugins.interp_rnn.data import MAX_STEPS, Logs

STATIC = Path(__file__).parent / "static"

MAX_LISTED = 32
"""Maximum number of tags of a page."""

TYPES = {".js": "text/javascript", ".css": "text/css", ".json": "application/json"}

FILES = {path.name: TYPES[path.suffix] for path in sorted(STATIC.iterdir()) if path.suffix in TYPES}
"""All files that are served, by name, so that no path of a request reaches the file system."""


class Plugin(base_plugin.TBPlugin):
    """Serves the tab "Interpretable RNN"."""

    plugin_name = schema.PLUGIN

    def __init__(self, context: base_plugin.TBContext) -> None:
        super().__init__(context)
        self._logs = Logs(context.data_provider)

    def get_plugin_apps(self) -> dict[str, Any]:
        logs = self._logs
        return {
            **{f"/{name}": _file(name) for name in FILES},
            # View -> the kinds that it shows; folders of callbacks, which are one run with the folder above.
            "/views": _json(lambda request: {"views": schema.views(), "folders": schema.FOLDERS}),
            # Run -> tags.
            "/tags": _json(lambda request: logs.tags(*_where(request))),
            # Folder -> the last losses that Keras's callback logged to it.
            "/losses": _json(lambda request: logs.losses(*_where(request))),
            # The overview of a tag; arguments run, tag.
            "/series": _json(lambda request: logs.series(*_tag(request))),
            # The drawn states and edges of a step, and their texts. Arguments run, tag, step.
            "/graph": _json(lambda request: logs.graph(*_tag(request), _number(request, "step"))),
            "/texts": _json(lambda request: logs.texts(*_tag(request), _number(request, "step"))),
            "/slice": self.serve_slice,
            "/page": self.serve_page,
        }

    def is_active(self) -> bool:
        return False  # TensorBoard asks the data provider whether there are tags

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="Interpretable RNN")

    @wrappers.Request.application
    def serve_slice(self, request: wrappers.Request) -> wrappers.Response:
        """Little-endian float32, its shape in the header X-Shape; arguments run, tag, step, index (0 if missing)."""
        values = self._logs.slice(*_tag(request), _number(request, "step"), _number(request, "index", 0))
        response = http_util.Respond(request, values.astype("<f4").tobytes(), "application/octet-stream")
        response.headers["X-Shape"] = ",".join(map(str, values.shape))
        return response

    @wrappers.Request.application
    def serve_page(self, request: wrappers.Request) -> wrappers.Response:
        """A view as one HTML file that needs no server; arguments view, state, tags.

        state is a JSON object, the state of the page; tags a JSON list of objects with run and tag.
        """
        view = _text(request, "view")
        if view not in schema.views():
            raise errors.InvalidArgumentError(f"view must be one of {', '.join(schema.views())}. Received: {view!r}.")
        asked, state = _tags(request), _state(request)
        if not asked:
            raise errors.InvalidArgumentError("tags must name at least one tag. Received: [].")
        data = self._logs.recorded(*_where(request), asked, state)
        title = f"{view.capitalize()}: {', '.join(dict.fromkeys(one['run'] or '.' for one in asked))}"
        text = document.page(title, "<p>The drawing needs scripts.</p>", views=[view], data=data)
        return http_util.Respond(request, text, "application/octet-stream")


class Loader(base_plugin.TBLoader):
    """Makes the plugin, and has TensorBoard keep more steps of its tags than of other tags."""

    def fix_flags(self, flags: Any) -> None:
        samples = getattr(flags, "samples_per_plugin", None)
        if samples is not None:
            samples.setdefault(schema.PLUGIN, MAX_STEPS)

    def load(self, context: base_plugin.TBContext) -> Plugin | None:
        return None if context.data_provider is None else Plugin(context)


def _file(name: str) -> Any:
    @wrappers.Request.application
    def serve(request: wrappers.Request) -> wrappers.Response:
        text = (STATIC / name).read_text(encoding="utf-8")
        return http_util.Respond(
            request, tokens.css(by_class=True) + text if name == "style.css" else text, FILES[name]
        )

    return serve


def _json(answer: Callable[[wrappers.Request], Any]) -> Any:
    @wrappers.Request.application
    def serve(request: wrappers.Request) -> wrappers.Response:
        return http_util.Respond(request, json.dumps(answer(request), allow_nan=False), "application/json")

    return serve


def _where(request: wrappers.Request) -> tuple[tensorboard_context.RequestContext, str]:
    return plugin_util.context(request.environ), plugin_util.experiment_id(request.environ)


def _tag(request: wrappers.Request) -> tuple[tensorboard_context.RequestContext, str, str, str]:
    return *_where(request), _text(request, "run"), _text(request, "tag")


def _text(request: wrappers.Request, name: str) -> str:
    value = request.args.get(name)
    if value is None:
        raise errors.InvalidArgumentError(f"The request must have the argument {name}. Received: none. Add it.")
    return value


def _parsed(request: wrappers.Request, name: str, default: str) -> Any:
    """The JSON of an argument if all of its numbers are finite, otherwise None."""
    try:
        entries = json.loads(request.args.get(name, default))
        json.dumps(entries, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return entries


def _state(request: wrappers.Request) -> dict[str, Any]:
    state = _parsed(request, "state", "{}")
    if not isinstance(state, dict):
        raise errors.InvalidArgumentError("state must be a JSON object.")
    return state


def _tags(request: wrappers.Request) -> list[dict[str, Any]]:
    entries = _parsed(request, "tags", "[]")
    if not list_of(entries, lambda entry: isinstance(entry, dict) and names([entry.get("run"), entry.get("tag")])):
        raise errors.InvalidArgumentError("tags must be a JSON list of objects with run and tag.")
    if len(entries) > MAX_LISTED:
        raise errors.InvalidArgumentError(f"tags must be at most {MAX_LISTED}. Received: {len(entries)}.")
    return list(entries)


def _number(request: wrappers.Request, name: str, default: int | None = None) -> int:
    value = request.args.get(name)
    if value is None and default is not None:
        return default
    try:
        return int(_text(request, name))
    except ValueError:
        raise errors.InvalidArgumentError(f"{name} must be an integer. Received: {value!r}.") from None
