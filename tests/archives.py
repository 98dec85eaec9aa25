"""Texts packed by suffix, and zip archives, as of NumPy and Keras, damaged where a flipped byte of a file may fall."""

import gzip
import io
import lzma
import zipfile

FLAGS = {"encrypted": 0x01, "strongly encrypted": 0x41}
DAMAGES = (*FLAGS, "displaced")


def spoiled(content: bytes, damage: str) -> bytes:
    """The bytes of an archive whose directory says that its files are encrypted, or begin before the archive."""
    changed = bytearray(content)
    if damage == "displaced":
        place = changed.rindex(b"PK\x05\x06") + 16
        changed[place : place + 4] = (int.from_bytes(changed[place : place + 4], "little") + 100).to_bytes(4, "little")
    else:
        place = changed.index(b"PK\x01\x02")
        while place >= 0:
            changed[place + 8] |= FLAGS[damage]
            place = changed.find(b"PK\x01\x02", place + 4)
    return bytes(changed)


def packed(data: bytes, suffix: str) -> bytes:
    """The data as a file of this suffix holds them."""
    if suffix == ".zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("sample", data)
        return buffer.getvalue()
    return {".gz": gzip.compress, ".xz": lzma.compress}.get(suffix, bytes)(data)
