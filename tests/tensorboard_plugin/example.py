"""Makes the example that the plugin's page shows where nothing is logged.

python -m tests.tensorboard_plugin.example
"""

from __future__ import annotations

import json
from typing import Any

from keras_interp_rnn import analysis, presets
from keras_interp_rnn.analysis.isan.top_contributions import top_contributions
from tensorboard_plugins.interp_rnn import recording
from tensorboard_plugins.interp_rnn.plugin import STATIC

PATH = STATIC / "example.json"
TEXT = "the end of the second world wa"


def made() -> dict[str, Any]:
    """The data of a page about the preset text-isan and one text."""
    reader = presets.load("text-isan").model
    split = top_contributions(reader, TEXT, num_outputs=4)
    changed = analysis.substitutions(reader, TEXT, alternatives="are")
    shown = [split.tag(), changed.tag()]
    found = [recording.single(tensor, **description)._replace(run="text-isan") for tensor, description in shown]
    return recording.block(found, {})


if __name__ == "__main__":
    PATH.write_text(json.dumps({"runs": made()["runs"]}) + "\n")
    print(f"{PATH}: {PATH.stat().st_size:,} bytes")
