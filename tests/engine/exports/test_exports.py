"""Files of other trackers, byte by byte. `tests/client/test_exports.py` opens them with the trackers themselves."""

from __future__ import annotations

import json
import struct
import zlib

import pytest

from engine.exports.mlflow_store import file_store
from engine.exports.protobuf import varint
from engine.exports.tensorboard import crc32c, event_file, masked
from engine.exports.types import About, Step
from engine.exports.wandb_file import BLOCK, HEADER, transaction_log

ABOUT = About(
    id="r1", name="a run", project="lakes", user="ada", started=100.5, ended=None, succeeded=False, config={"lr": 0.1}
)


def a_step(step: int, **metrics: float) -> Step:
    return Step(step, 2.0, 10, 1.5, dict(metrics))


@pytest.mark.parametrize(("number", "written"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02")])
def test_a_varint_has_seven_bits_in_each_byte(number: int, written: str) -> None:
    assert varint(number).hex() == written


def test_checksums_are_those_of_the_standard() -> None:
    """RFC 3720 has this check value of CRC-32C; masked it is ((c >> 15) | (c << 17)) + 0xa282ead8."""
    assert crc32c(b"123456789") == 0xE3069283
    assert masked(b"123456789") == 0xC78AB0E5


def test_an_event_file_is_its_version_and_a_record_for_each_step() -> None:
    found = list(event_file([Step(7, 2.0, 0, 0.0, {"reward/mean": 0.5})], started=1.0))
    assert [one.hex() for one in found] == [
        "1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a3286bf577a",
        "2100000000000000017becf609000000000000004010072a140a120a0b7265776172642f6d65616e150000003f5894ee68",
    ]


def test_a_value_beyond_float32_is_the_largest() -> None:
    [_, record] = event_file([a_step(1, huge=1e300)], started=1.0)
    assert struct.pack("<f", 3.4028234663852886e38) in record


def test_no_fragment_of_a_transaction_log_crosses_a_block() -> None:
    """One record of 100 kB is in four blocks of 32 KiB: a first, two in the middle, and a last fragment."""
    steps = [a_step(1, **{"m" * 90 + str(number): 0.5 for number in range(800)})]
    data = b"".join(transaction_log(ABOUT, steps))
    assert data.startswith(HEADER)
    kinds, position = [], len(HEADER)
    while position < len(data):
        if BLOCK - position % BLOCK < 7:
            position += BLOCK - position % BLOCK
            continue
        checksum, length, kind = struct.unpack_from("<IHB", data, position)
        content = data[position + 7 : position + 7 + length]
        assert zlib.crc32(bytes([kind]) + content) == checksum
        assert position // BLOCK == (position + 6 + length) // BLOCK
        kinds.append(kind)
        position += 7 + length
    # version and run whole; the step and the summary, each of about 90 kB, in parts
    assert kinds[:3] == [1, 1, 2]
    assert kinds.count(4) == 2
    assert position == len(data)


def test_an_mlflow_store_has_a_file_for_each_metric() -> None:
    files = {one.path: one.content for one in file_store(ABOUT, [a_step(1, **{"a/b": 0.5}), a_step(2, **{"a/b": 1.0})])}
    run = f"mlruns/1/{'r1'.rjust(32, '0')}"
    assert files[f"{run}/metrics/a/b"] == "2000 0.5 1\n2000 1.0 2\n"
    assert files[f"{run}/params/lr"] == "0.1"
    assert json.loads(files[f"{run}/meta.yaml"])["status"] == 1  # running
    assert json.loads(files["mlruns/1/meta.yaml"])["name"] == "lakes"


@pytest.mark.parametrize("name", ["../../etc/passwd", "/root", "a//b", "..", "a\\b", "@"])
def test_no_name_leads_out_of_a_store(name: str) -> None:
    for one in file_store(ABOUT, [a_step(1, **{name: 0.5})]):
        assert one.path.startswith("mlruns/1/")
        assert all(part.strip(".") for part in one.path.split("/") if part != ".keep")
