"""What has to be settled before any test imports a backend."""

import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator

# JAX turns float64 arrays into float32 unless told before its import: tests in float64 would test nothing.
os.environ.setdefault("JAX_ENABLE_X64", "1")

import keras
import pytest

from tests import shards


@pytest.fixture(autouse=True)
def _same_random_numbers_in_any_order_of_tests() -> None:
    keras.utils.set_random_seed(0)


def _seed_tensorflow_once() -> None:
    """Seeds TensorFlow for the whole run, and makes of later calls nothing.

    `tf.random.set_seed` empties TensorFlow's cache of eager kernels: the next call of a layer takes two to three times
    as long. Of Keras only the shuffling of `fit` draws by that seed, and it draws the same in any order of the tests.
    """
    import tensorflow as tf

    tf.random.set_seed(0)
    tf.random.set_seed = lambda seed: None


@pytest.fixture
def global_policy() -> Iterator[Callable[[str], None]]:
    """Sets the global dtype policy for a test."""
    before = keras.config.dtype_policy()
    yield keras.config.set_dtype_policy
    keras.config.set_dtype_policy(before)


TESTS_A_CACHE = 50
"""After so many tests JAX forgets what it compiled: every function has memory maps of its own, of which Linux gives a
process 65,530, and XLA crashes without one."""


def pytest_configure(config: pytest.Config) -> None:
    _seed_tensorflow_once()
    if keras.backend.backend() == "jax":
        config.pluginmanager.register(_Compiled())


class _Compiled:
    """Empties the cache of JAX now and then, and keeps on disk what was compiled: a test takes half of the time.

    In a folder of each process, as one can read there what another is still writing.
    """

    def __init__(self) -> None:
        import jax

        self.num_tests = 0
        self.folder = tempfile.TemporaryDirectory(prefix="compiled-by-jax-")
        jax.config.update("jax_compilation_cache_dir", self.folder.name)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

    def pytest_runtest_logfinish(self) -> None:
        import jax

        self.num_tests += 1
        if self.num_tests % TESTS_A_CACHE == 0:
            jax.clear_caches()

    def pytest_unconfigure(self) -> None:
        self.folder.cleanup()


CORE_CASES = 2
"""Of a test with more cases the core (`make test`) runs so many; the others belong to the matrix.

`pytest.mark.core(1)` asks for another number, where cases are seeds or repeat an expensive path, and `pytest.mark.core`
for all, where a case is a function of a contract, and quick. A case that its parameter marks as matrix is left out, as
every layer but one of each family is in the contract of the layers.
"""

RULES_OF_THE_TREE = ("docs", "test_docstrings.py", "test_imports.py", "test_public_names.py", "test_vocabulary.py")
"""Run whole, as a case is a file or a name."""


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks all but a few cases of each test as matrix."""
    rules = {config.rootpath / "tests" / name for name in RULES_OF_THE_TREE}
    cases = defaultdict(list)
    for item in items:
        if rules.isdisjoint((item.path, *item.path.parents)) and not item.get_closest_marker("matrix"):
            cases[item.nodeid.split("[")[0]].append(item)
    for of_one in cases.values():
        mark = of_one[0].get_closest_marker("core")
        number = CORE_CASES if mark is None else mark.args[0] if mark.args else len(of_one)
        for item in set(of_one).difference(_spread(of_one, number)):
            item.add_marker(pytest.mark.matrix)
    if hasattr(config, "workerinput"):  # the longest files first, so that no worker ends with one of them alone
        seconds = shards.recorded_durations()
        items.sort(key=lambda item: -seconds.get(shards.key(item.nodeid.partition("::")[0], "core"), 0))


def _spread(cases: list[pytest.Item], number: int) -> list[pytest.Item]:
    """So many cases, each time the one with the most values of parameters that no case before it has.

    Of those with equally many the first, then the last, then those in between.
    """
    order = [cases[0], cases[-1], cases[len(cases) // 2], *cases]
    covered: set[tuple[str, object]] = set()
    chosen: list[pytest.Item] = []
    while len(chosen) < min(number, len(cases)):
        remaining = [item for item in order if item not in chosen]
        chosen.append(max(remaining, key=lambda item: len(_values(item) - covered)))
        covered |= _values(chosen[-1])
    return chosen


def _values(item: pytest.Item) -> set[tuple[str, object]]:
    """The name of each parameter of a case, with the place of its value among those of the test."""
    return set(item.callspec.indices.items()) if hasattr(item, "callspec") else set()
