"""A preset's folder from a stranger: loaded as the package's own, or refused in a sentence."""

import hashlib
import io
import json
import struct
import zipfile

import pytest

from keras_interp_rnn import presets
from keras_interp_rnn.presets import storage
from keras_interp_rnn.presets.cards import FOLDER
from tests.archives import DAMAGES, spoiled

NAME = "tomita-4"


def load(folder, change=lambda card: None, weights=None):
    card = json.loads((FOLDER / f"{NAME}.json").read_text())
    weights = weights or (FOLDER / f"{NAME}.npz").read_bytes()
    card["weights"]["sha256"] = hashlib.sha256(weights).hexdigest()
    change(card)
    (folder / f"{NAME}.json").write_text(json.dumps(card))
    (folder / f"{NAME}.npz").write_bytes(weights)
    return presets.load(NAME, source=folder)


def test_a_copy_of_the_package_loads(tmp_path):
    assert load(tmp_path).model.classify(["0110", "01000"]).tolist() == [True, False]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda card: card.update(automaton=None), id="no automaton"),
        pytest.param(lambda card: card["automaton"].update(tomita=[]), id="a language that is a list"),
        pytest.param(lambda card: card["model"].update(kind=[]), id="a kind that is a list"),
        pytest.param(lambda card: card["model"].update(report={}), id="an empty report"),
        pytest.param(lambda card: card["model"].update(report=None), id="no report"),
        pytest.param(lambda card: card["model"].update(units=10**12), id="units beyond memory"),
        pytest.param(lambda card: card["model"].update(units=[24]), id="units in a list"),
        pytest.param(lambda card: card["model"].pop("units"), id="no units"),
        pytest.param(lambda card: card["model"].update(alphabet=7), id="an alphabet that is a number"),
        pytest.param(lambda card: card.update(model=[]), id="a model that is a list"),
    ],
)
def test_a_card_that_describes_no_network_is_refused(tmp_path, change):
    with pytest.raises(ValueError, match="Received: "):
        load(tmp_path, change)


def test_weights_are_measured_before_they_are_unpacked(tmp_path):
    """An array of zeros as `np.savez_compressed` writes it, small in the file and large in memory."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000,), }"
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a/b.npy", "w", force_zip64=True) as file,
    ):
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        for _ in range(storage.MAX_BYTES // 2**20 + 1):
            file.write(bytes(2**20))
    with pytest.raises(ValueError, match=r"bytes, more than 268,435,456\)\. Make the preset again"):
        load(tmp_path, weights=packed.getvalue())


@pytest.mark.core
@pytest.mark.parametrize("damage", DAMAGES)
def test_weights_whose_directory_is_damaged_are_refused(tmp_path, damage):
    weights = spoiled((FOLDER / "tomita-4.npz").read_bytes(), damage)
    with pytest.raises(ValueError, match="The weights of a preset must be NumPy arrays. Received: "):
        load(tmp_path, weights=weights)
