"""Encodings and compression of text files, found by their first bytes; what DuckDB cannot read is copied into UTF-8."""

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
"""Compressions that DuckDB reads as they are."""
_PACKED = ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))


def compression(file: str) -> str:
    """Return how a text file is compressed, by its first bytes; "none" if it is not."""
    with open(file, "rb") as opened:
        head = opened.read(6)
    return next((name for magic, name in _PACKED if head.startswith(magic)), "none")


@contextmanager
def opened(file: str) -> Iterator[Any]:
    """Unpack a file as it is read. A failure in the block is an error that names the file."""
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
    """Return the first bytes of a file, decompressed; all of them if ``size`` is None."""
    with opened(file) as stream:
        return bytes(stream.read(size) if size is not None else stream.read())


def encoding_of(file: str) -> tuple[str, str]:
    """Return the encoding of a text file by its first megabyte, and the evidence.

    ``utf-8`` is what engines read as it is.
    """
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
    """Return whether some lines end as on Windows and some as elsewhere, as in files that were put together."""
    data = unpacked(file)
    return 0 < data.count(b"\r\n") < data.count(b"\n")


def zero_bytes(file: str) -> int:
    """Zero bytes among the first of a file that is text otherwise, as a logger leaves that lost its power."""
    data = unpacked(file)
    zeros = data.count(0)
    odd = sum(data.count(byte) for byte in (1, 2, 3, 4, 5, 6, 7, 8, 14, 15, 16, 17, 18))
    return zeros if 2 * zeros < len(data) and not odd else 0


def check_encoding(name: str) -> str:
    """Refuse an encoding that Python does not know."""
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise OptionError(f"`encoding` {name!r} is not known: write one such as latin-1, cp1252 or utf-16") from error


def copy_as_utf8(file: str, encoding: str, target: Path) -> None:
    """Copy a text file into UTF-8, unpacked and without zero bytes; memory holds a piece of it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with opened(file) as stream, target.open("w", encoding="utf-8", newline="") as written:
            ends = io.IncrementalNewlineDecoder(decoder, translate=True)
            while piece := stream.read(_PIECE):
                written.write(ends.decode(bytes(piece)).replace("\0", ""))
            written.write(ends.decode(b"", final=True))
    except UnicodeError as error:
        raise SourceError(
            f"{file}: not {encoding} text; name its encoding with `encoding`, such as latin-1",
            kind="encoding",
            place=file,
        ) from error
