"""Find the encoding and compression of text files from their first bytes. Files that DuckDB cannot read are copied."""

import codecs
import io
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from halfmask.errors import OptionError, SourceError

HEAD_BYTES = 1 << 20
_PIECE = 1 << 22
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
STREAMED = ("none", "gzip", "zstd")
"""Compressions that DuckDB can read."""
_PACKED = ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))


def compression(file: str) -> str:
    """Return how a file is compressed, from its first bytes; "none" if it is not."""
    with open(file, "rb") as opened:
        head = opened.read(6)
    return next((name for magic, name in _PACKED if head.startswith(magic)), "none")


@contextmanager
def opened(file: str) -> Iterator[Any]:
    """Open a file for reading, decompressing it on the fly."""
    packed = compression(file)
    compressed = None if packed == "none" else packed
    try:
        with lzma.open(file) if packed == "xz" else pa.input_stream(file, compressed) as stream:
            yield stream
    except (pa.ArrowException, lzma.LZMAError, EOFError, OSError) as error:
        raise SourceError(
            f"{file}: cannot be unpacked as {packed}; replace the file or leave it out", kind="damaged", place=file
        ) from error


def unpacked(file: str, size: int | None = HEAD_BYTES) -> bytes:
    """Return the first ``size`` bytes of a file, decompressed; the whole file if ``size`` is None."""
    with opened(file) as stream:
        return bytes(stream.read(size) if size is not None else stream.read())


def encoding_of(file: str) -> tuple[str, str]:
    """Return the encoding of a text file and the evidence, from its first megabyte."""
    data = unpacked(file)
    for mark, name in _MARKS:
        if data.startswith(mark):
            return ("utf-8" if name == "utf-8-sig" else name), "its first bytes are a mark of it"
    for zeros, end, name in ((1, b"\n\0", "utf-16-le"), (0, b"\0\n", "utf-16-be")):
        if data[zeros:200:2].count(0) > 80 * len(data[zeros:200:2]) // 100 and end in data:
            return name, "every second byte is zero"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
        return "utf-8", ""
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        evidence = f"line {line} is not UTF-8"
    try:
        data.decode("cp1252")
        return "cp1252", evidence
    except UnicodeDecodeError:
        return "latin-1", evidence


def ends_differ(file: str) -> bool:
    """Return whether a file mixes Windows and Unix line endings, as happens when files are concatenated."""
    data = unpacked(file)
    return 0 < data.count(b"\r\n") < data.count(b"\n")


def zero_bytes(file: str) -> int:
    """Count the zero bytes in the first megabyte of a text file; 0 if the file is binary.

    A logger that loses power may leave zero bytes.
    """
    data = unpacked(file)
    zeros = data.count(0)
    odd = sum(data.count(byte) for byte in (1, 2, 3, 4, 5, 6, 7, 8, 14, 15, 16, 17, 18))
    return zeros if 2 * zeros < len(data) and not odd else 0


def check_encoding(name: str) -> str:
    """Return Python's name of an encoding. Raise an error if Python does not know it."""
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise OptionError(f"`encoding` {name!r} is not known: write one such as latin-1, cp1252 or utf-16") from error


def copy_as_utf8(file: str, encoding: str, target: Path) -> None:
    """Copy a text file as UTF-8: decompressed, without zero bytes, and with uniform line endings."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with opened(file) as stream, target.open("w", encoding="utf-8", newline="") as written:
            ends = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(), translate=True)
            while piece := stream.read(_PIECE):
                written.write(ends.decode(bytes(piece)).replace("\0", ""))
            written.write(ends.decode(b"", final=True))
    except UnicodeError as error:
        raise SourceError(
            f"{file}: not {encoding} text; name its encoding with `encoding`, such as latin-1",
            kind="encoding",
            place=file,
        ) from error
