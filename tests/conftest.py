"""What has to be settled before any test imports a backend."""

import os
import tempfile
import zlib
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


CORE_CASES = 3
"""Of a test with more cases the core (`make test`) runs so many; the others belong to the matrix.

`pytest.mark.core(1)` asks for another number, where cases are seeds or repeat an expensive path, and `pytest.mark.core`
for all, where a case is a function of a contract, and quick.
"""

RULES_OF_THE_TREE = ("docs", "test_docstrings.py", "test_imports.py", "test_public_names.py", "test_vocabulary.py")
"""Run whole, as a case is a file or a name."""


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks all but a few cases of each test as matrix; those few are spread, from a place that the name gives."""
    rules = {config.rootpath / "tests" / name for name in RULES_OF_THE_TREE}
    cases = defaultdict(list)
    for item in items:
        if rules.isdisjoint((item.path, *item.path.parents)):
            cases[item.nodeid.split("[")[0]].append(item)
    for name, of_one in cases.items():
        mark = of_one[0].get_closest_marker("core")
        number = CORE_CASES if mark is None else mark.args[0] if mark.args else len(of_one)
        first = zlib.crc32(name.encode())
        # One further each time: at an even distance a case of two parameters would often have the same first one.
        further = 1 if len(of_one) >= number**2 else 0
        core = {(first + i * len(of_one) // number + i * further) % len(of_one) for i in range(number)}
        for i, item in enumerate(of_one):
            if i not in core:
                item.add_marker(pytest.mark.matrix)
    if hasattr(config, "workerinput"):  # the longest files first, so that no worker ends with one of them alone
        seconds = shards.recorded_durations()
        items.sort(key=lambda item: -seconds.get(shards.key(item.nodeid.partition("::")[0]), 0))
