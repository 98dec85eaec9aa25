"""Chromium, and a tab over the logs of real callbacks."""

import pytest

from tests.tensorboard_plugin import logs


@pytest.fixture(scope="module")
def chromium():
    """Skips what needs a browser where there is none."""
    from tests import browser  # skips without selenium

    if not (browser.CHROMIUM and browser.DRIVER):
        pytest.skip("needs chromium and chromium-driver")


@pytest.fixture(scope="module")
def tab_of_module(chromium):
    from tests.tensorboard_plugin.tab import opened_over

    with opened_over(logs.written()) as opened:
        yield opened


@pytest.fixture
def tab(tab_of_module):
    """No test leaves troubles behind."""
    yield tab_of_module
    assert not tab_of_module.troubles()
