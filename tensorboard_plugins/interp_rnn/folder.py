"""The whole tab as one HTML file: what callbacks logged to a folder, for places where no TensorBoard runs.

TensorBoard's own reader reads the events. The page holds the last step of every tag, and as many of the steps before it
as fit into 8 MiB (recording.py). Tags of another version, which the tab lists as errors, are left out.
"""

from __future__ import annotations

from pathlib import Path

from tensorboard import context, errors
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer

from tensorboard_plugins.interp_rnn import document, schema
from tensorboard_plugins.interp_rnn.data import MAX_STEPS, Logs


def page_of(folder: Path) -> str:
    """The page of all runs in a folder.

    Raises:
        ValueError: if nothing is logged there that the tab shows, if a tag is damaged, or if the last steps alone take
            more than 8 MiB.
    """
    multiplexer = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={schema.PLUGIN: MAX_STEPS})
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    logs, asking = Logs(data_provider.MultiplexerDataProvider(multiplexer, str(folder))), context.RequestContext()
    tags = [
        {"run": run, "tag": entry["tag"]}
        for run, entries in logs.tags(asking, "").items()
        for entry in entries
        if "kind" in entry
    ]
    if not tags:
        raise ValueError(
            f"The folder must hold logs of callbacks of keras_interp_rnn. Received: {str(folder)!r}, without any. Pass "
            "the `log_dir` that was given to the callbacks."
        )
    try:
        data = logs.recorded(asking, "", tags, {})
    except errors.PublicError as error:
        raise ValueError(f"The logs in {str(folder)!r} cannot be saved as a page. {error}") from None
    data["losses"] = logs.losses(asking, "")
    title = f"Interpretable RNN: {folder.resolve().name}"
    return document.page(title, "<p>The drawings need scripts.</p>", views=[*schema.views()], data=data)
