"""The whole tab in Chromium, once: every place of every run is drawn. test_browser.py asks for what is drawn."""

import contextlib

import pytest

from tests.tensorboard_plugin import logs
from tests.tensorboard_plugin.test_browser import CHROMIUM, DRIVER, PLACES, Tab


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver")
def test_every_place_of_every_run_is_drawn():
    folder = logs.written()
    with logs.served(folder) as address, contextlib.closing(Tab(address)) as tab:
        for run in sorted(path.name for path in folder.iterdir()):
            for place in PLACES:
                tab.open(place, run=run)
                assert not [one.text for one in tab.all("[role=alert]")], (run, place)
        assert not tab.troubles()
