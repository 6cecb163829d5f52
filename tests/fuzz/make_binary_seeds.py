#!/usr/bin/env python3
"""Writes the seeds of tests/fuzz/corpus that are not text. No argument; the same bytes each time."""
import gzip
import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def message(body):
    return varint(len(body)) + body


def attribute(name, body):
    return text(10, text(1, name) + body)


# Field numbers of Chakra's GlobalMetadata, Node and AttributeProto.
def node(ident, name, kind, *attributes, data_deps=(), duration=0):
    body = number(1, ident) + text(2, name) + number(3, kind)
    if data_deps:
        body += text(5, b"".join(varint(dep) for dep in data_deps))
    if duration:
        body += number(7, duration)
    return message(body + b"".join(attributes))


METADATA = message(text(1, "0.0.4"))
GPU = attribute("is_cpu_op", number(27, 0))
ALL_REDUCE = [GPU, attribute("comm_type", number(9, 0)), attribute("comm_size", number(9, 1 << 20))]
SEEDS = {
    "chakra/all_reduce.et": METADATA
    + node(1, "gemm", 4, GPU, attribute("num_ops", number(9, 1000)), duration=12)
    + node(2, "all_reduce", 7, *ALL_REDUCE, attribute("pg_name", text(29, "0")), data_deps=(1,)),
    "chakra/messages.et": METADATA
    + node(1, "send", 5, GPU, attribute("comm_dst", number(7, 1)), attribute("comm_size", number(9, 64)),
           attribute("comm_tag", number(7, 3)))
    + node(2, "receive", 6, GPU, attribute("comm_src", number(7, 1)), attribute("comm_size", number(9, 64)))
    + node(3, "load", 2, attribute("tensor_size", number(13, 4096)), data_deps=(1, 2, 9))
    + node(4, "values", 1, attribute("doubles", text(4, text(1, struct.pack("<d", 1.5))))),
    "chakra/cycle.et": METADATA + node(1, "a", 4, data_deps=(2,)) + node(2, "b", 4, data_deps=(1,)),
    "chakra/length.et": METADATA + b"\xff" * 9 + b"\x01",
    "gzip_lines/packed.gz": gzip.compress(b"first\nsecond\r\n" * 40, mtime=0),
    "gzip_lines/members.gz": gzip.compress(b"first\nsec", mtime=0) + gzip.compress(b"ond\n", mtime=0),
    "gzip_lines/cut.gz": gzip.compress(b"first\nsecond\n", mtime=0)[:-6],
    "gzip_lines/behind.gz": gzip.compress(b"first\n", mtime=0) + b"no gzip",
    "jsonl/packed.jsonl.gz": gzip.compress(
        b'{"trainyard_trace":1,"ranks":1}\n{"rank":0,"id":1,"kind":"marker"}\n', mtime=0),
}

for name, seed in SEEDS.items():
    (CORPUS / name).write_bytes(seed)
