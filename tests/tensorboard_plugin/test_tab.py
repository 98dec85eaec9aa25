"""The whole tab in Chromium, once: every place of every run is drawn. test_browser.py asks for what is drawn."""

import shutil

import pytest

from tests.tensorboard_plugin import logs

RUNS = [*sorted(path.name for path in logs.VERSION_1.iterdir() if path.is_dir()), "traces", "what_if"]


@pytest.mark.core(1)
@pytest.mark.usefixtures("chromium")
@pytest.mark.parametrize("run", RUNS)
def test_every_place_of_every_run_is_drawn(tmp_path, run):
    from tests.tensorboard_plugin.tab import PLACES, opened_over

    folder = tmp_path / "logs"
    shutil.copytree(logs.VERSION_1, folder)
    logs.what_if(folder / "what_if")  # which the recorded log has not
    logs.traces(folder / "traces")
    with opened_over(folder) as tab:
        assert {path.name for path in folder.iterdir() if path.is_dir()} == set(RUNS)
        tab.open(PLACES[0], run=run)
        for place in PLACES:
            tab.view(place)
            assert not [one.text for one in tab.all("[role=alert]")], place
