"""Reads wire.json with a decoder of its own (spec/wire.md, sections 2 to 5); standard library only.
Exit status 1: a difference.

    python3 spec/vectors/check_wire.py

It was written from the specification, not from the Rust code: where both agree, the specification
says enough.
"""

import json
import pathlib
import struct
import sys

PREFACE = b"FARCALL\x01"
CONTROL_BYTES_MAX, DATA_BYTES_MAX, HELLO_BYTES_MAX = 1 << 20, 4 << 20, 1 << 16
HELLO, DATA = 1, 8
EMPTY_KINDS = {3, 4, 11}


class Refused(Exception):
    """What a receiver must refuse; the first argument is the error's kind."""


# -- CBOR (RFC 8949), the part that the schema uses
# -------------------------------------------------------------------


class Cbor:
    """Reads one value after another. Byte strings become `bytes`, maps `dict`, arrays `list`."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        # Compared before anything is cut, so that a promised length costs nothing.
        if count > len(self.data) - self.at:
            raise Refused("protocol", "end of input")
        self.at += count
        return self.data[self.at - count : self.at]

    def head(self):
        first = self.take(1)[0]
        major, short = first >> 5, first & 31
        if short < 24:
            return major, short, short
        if short > 27:
            raise Refused("protocol", "an item of unknown length, or a reserved one")
        return major, short, int.from_bytes(self.take(1 << (short - 24)), "big")

    def value(self):
        major, short, number = self.head()
        if major == 0:
            return number
        if major == 2:
            return self.take(number)
        if major == 3:
            try:
                return self.take(number).decode("utf-8")
            except UnicodeDecodeError:
                raise Refused("protocol", "no text") from None
        if major == 4:
            # One by one: a list of a promised length is not made before its items come.
            items = []
            while len(items) < number:
                items.append(self.value())
            return items
        if major == 5:
            pairs = {}
            for _ in range(number):
                key = self.value()
                if not isinstance(key, int):
                    raise Refused("protocol", "a key is no number")
                pairs[key] = self.value()
            return pairs
        if major == 7 and short == 27:
            return struct.unpack(">d", struct.pack(">Q", number))[0]
        simple = {20: False, 21: True, 22: None}
        if major == 7 and short in simple:
            return simple[short]
        raise Refused("protocol", f"no item of the schema: major type {major}")


# -- The schema: a check is a function that refuses or returns
# ---------------------------------------------------------


def need(condition, message):
    if not condition:
        raise Refused("protocol", message)


def uint(bits):
    return lambda value: need(type(value) is int and value < 1 << bits, f"no number of {bits} bits")


def is_a(kind, length=None):
    def check(value):
        need(
            type(value) is kind and (length is None or len(value) == length),
            f"no {kind.__name__} of {length}",
        )

    return check


def list_of(item):
    def check(value):
        need(type(value) is list, "no array")
        for one in value:
            item(one)

    return check


def either_null_or(item):
    return lambda value: value is None or item(value)


def record(required, optional=None):
    def check(value):
        need(type(value) is dict, "no map")
        for key, item in required.items():
            need(key in value, f"missing value at key {key}")
            item(value[key])
        for key, item in (optional or {}).items():
            either_null_or(item)(value.get(key))

    return check


def fields(*items):
    def check(value):
        need(type(value) is list, "no array")
        # Items that may be null may be left out at the end: an argument of unknown length is [3].
        for one, item in zip(value + [None] * (len(items) - len(value)), items):
            item(one)

    return check


def choice(*variants):
    def check(value):
        need(type(value) is list and value and type(value[0]) is int, "no choice")
        need(
            value[0] < len(variants) and variants[value[0]] is not None,
            f"unknown variant {value[0]}",
        )
        fields(*variants[value[0]])(value[1:])

    return check


def one_of(count):
    return lambda value: need(type(value) is int and value < count, "unknown variant")


u8, u16, u32, u64 = uint(8), uint(16), uint(32), uint(64)
text, octets, flag, real = is_a(str), is_a(bytes), is_a(bool), is_a(float)
call_id, contract = is_a(bytes, 16), is_a(bytes, 32)
attributes = list_of(fields(text, flag, octets))
limits = record({1: u32, 2: u32, 3: u32, 4: u64, 5: u64, 6: u32})
failure = record({1: u16, 2: text, 3: text, 5: list_of(fields(text, text)), 6: flag}, {4: text})
argument = choice(
    (),
    (),
    (octets,),
    (either_null_or(u64),),
    (u32, u64, u64),
    (octets,),
    (text,),
    (list_of(either_null_or(octets)),),
)
arguments = list_of(argument)
times = record({1: u64, 2: u64, 3: u64})
interface = record({1: text, 2: octets, 3: contract}, {4: flag})
publication = record({1: octets, 2: list_of(text)}, {3: text})
resources = record({}, {1: u32, 2: u64, 3: u32, 4: u64})
hold = record({1: text, 2: call_id, 3: u32, 4: u64}, {5: u64, 6: flag, 7: u32, 8: resources})
published_files = record(
    {1: list_of(fields(text, octets)), 2: flag}, {3: text, 4: text, 5: call_id}
)
published_piece = record({1: call_id, 2: text, 3: octets})
order = choice(
    (text,),
    (text,),
    (either_null_or(text),),
    (either_null_or(u64),),
    (list_of(call_id),),
    (u64,),
    (published_files,),
    (published_piece,),
    (list_of(call_id),),
)
module_report = record({1: text, 2: u32, 3: text}, {4: failure})
open_call = record({1: call_id, 2: text, 3: text, 4: text, 5: one_of(4), 6: u64})
use = record(
    {
        1: text,
        2: text,
        3: u64,
        4: u64,
        5: list_of(fields(u16, u64)),
        6: u64,
        7: u64,
        8: list_of(u64),
        9: u64,
    }
)
module_status = record({1: text, **dict.fromkeys(range(2, 7), u64)})
totals = record(dict.fromkeys(range(1, 10), u64))
held = record(
    {1: call_id, 2: text, 3: text, 4: one_of(5), 5: u64, 6: u64, 7: u64}, {8: u64, 9: u32, 10: text}
)
kept_call = record(
    {1: call_id, 2: text, 3: one_of(4), 4: u64, 5: u64, 6: flag, 7: text},
    {8: fields(u64, text, text)},
)
status = record(
    {
        1: text,
        2: u64,
        3: flag,
        4: list_of(open_call),
        5: u64,
        6: list_of(use),
        7: list_of(module_status),
    },
    {8: totals, 9: u64, 10: list_of(held), 11: list_of(kept_call), 12: u64, 14: flag},
)
# spec/placement.md, section 10
offered = fields(text, contract, flag, either_null_or(u32))
ran = record({1: contract, 2: u64, 3: real, 4: u32, 5: real, 6: real}, {7: u64})
server_report = record(
    {
        **{1: text, 2: list_of(text), 3: text, 4: text, 5: call_id, 6: u32, 7: real, 8: u64},
        **{9: real, 10: real, 11: real, 12: u64, 15: list_of(text), 18: flag, 19: u64},
        **{20: list_of(ran), 21: list_of(u64), 22: list_of(u64), 23: list_of(text), 24: text},
    },
    {13: list_of(offered), 14: list_of(interface), 16: real, 17: real, 25: flag},
)
report_answer = record({1: flag, 2: list_of(contract), 3: list_of(fields(text, text))})
state_question = record({2: list_of(contract)}, {1: u64, 3: is_a(bytes, 16)})
transfer = fields(real, real)
call_outcome = record(
    {1: u64, 2: text, 5: text, 6: text, 8: flag}, {3: transfer, 4: transfer, 7: u16}
)
place_question = record(
    {
        **{1: text, 2: contract, 3: u64, 4: real, 5: u32, 6: real, 7: real, 8: text, 9: text},
        **{11: list_of(text), 12: u32, 13: flag, 14: list_of(call_outcome), 15: list_of(text)},
    },
    {10: real},
)
placed_server = record(
    {
        **{1: text, 2: list_of(text), 3: text, 4: real, 5: real, 6: real, 7: real, 8: real},
        **{9: u32, 10: text, 11: flag, 12: flag},
    },
    {13: flag},
)
place_answer = record(
    {1: u64, 2: u64, 3: list_of(placed_server), 4: list_of(text)}, {5: list_of(text)}
)
server_state = record(
    {
        **{1: text, 2: one_of(5), 3: list_of(text), 4: u32, 5: real, 6: u64, 7: real, 8: u64},
        **{9: u64, 13: text, 14: text, 15: flag},
    },
    {10: real, 11: real, 12: real, 16: flag},
)
# spec/wire.md, section 12
data_id = transaction_id = is_a(bytes, 16)
data_status = record(
    {1: data_id, 2: one_of(3), 3: text, 4: list_of(u64), 5: u64, 7: text}, {6: u64, 8: failure}
)
# spec/wire.md, section 13
begin = record({1: transaction_id, 2: octets}, {3: u64})
one, some, rows = (transaction_id,), (list_of(transaction_id),), (transaction_id, u32)
transaction = choice((begin,), one, some, rows, rows, some)
promise = fields(data_id, text)
ticket = record({1: text, 2: u64, 3: is_a(bytes, 32)})
pull = record({1: data_id, 2: data_id, 3: list_of(text), 4: ticket, 5: u64}, {6: is_a(bytes, 32)})
transaction_end = record({1: u32, 2: list_of(fields(u32, failure))})
transaction_status = record(
    {1: transaction_id, 2: flag, 3: u32, 4: u32, 5: u32, 6: u64, 8: text}, {7: u64, 9: failure}
)
timeline_row = fields(u32, one_of(5), u32, either_null_or(u32), *4 * (either_null_or(u64),))
timeline = record({1: u32, 2: list_of(text), 3: list_of(text), 4: list_of(timeline_row)})
transaction_results = record({1: u32, 2: list_of(fields(u32, text, text, data_id))})
transaction_answer = choice(
    (transaction_end,), (list_of(transaction_status),), (timeline,), (transaction_results,)
)
# spec/wire.md, section 11.1
relay_token = is_a(bytes, 32)
relay_ticket = record({1: relay_token, 2: list_of(text)})

SCHEMA = {
    1: record(
        {1: one_of(3), 2: one_of(2), 3: text, 4: list_of(text), 5: limits, 6: text, 9: attributes},
        {7: text, 8: octets},
    ),
    2: record({}, {1: failure}),
    5: choice(
        (text,),
        (),
        (publication,),
        (order,),
        (),
        (call_id,),
        (hold,),
        (call_id, u32),
        None,
        (call_id,),
        (),
        (server_report,),
        (state_question,),
        (place_question,),
        (list_of(call_outcome),),
        (text, text),
        (list_of(data_id),),
        (list_of(data_id),),
        (text,),
        (),
        (transaction,),
        (list_of(promise), u64),
        (list_of(data_id), failure),
        (pull,),
    ),
    6: choice(
        (failure,),
        (interface,),
        (list_of(interface),),
        (),
        (list_of(module_report),),
        (status,),
        (record({1: flag}, {2: flag}),),
        (list_of(kept_call),),
        (report_answer,),
        (server_report,),
        (place_answer,),
        (list_of(server_state),),
        *4 * (None,),
        (list_of(data_status),),
        None,
        (relay_ticket,),
        (list_of(relay_token),),
        (transaction_answer,),
    ),
    7: record(
        {1: call_id, 2: text, 3: contract, 4: arguments},
        {5: u64, 6: u64, 7: octets, 8: text, 9: text, 10: attributes, 11: arguments},
    ),
    9: record({1: u64, 2: u32}),
    10: record({2: arguments, 3: times}, {1: failure, 4: attributes}),
    12: choice((u32,), (), (real, text), (u8, octets), ()),
    13: record({1: u32, 2: u64}),
    14: u32,
    15: record({1: call_id, 2: u32}, {3: attributes, 4: flag, 5: interface, 6: arguments}),
}


# -- Frames
# -------------------------------------------------------------------------------------------------------------


def check_length(kind, length, greeted):
    limit = DATA_BYTES_MAX if kind == DATA else CONTROL_BYTES_MAX if greeted else HELLO_BYTES_MAX
    need(length <= limit, f"a frame of {length} bytes")


def read_frame(stream, at, greeted=True):
    """One frame: its header's fields, the message, and where the next frame begins."""
    kind, flags, slot, channel, sequence, length = struct.unpack_from("<BBHIII", stream, at)
    header = dict(
        kind=kind, flags=flags, slot=slot, channel=channel, sequence=sequence, length=length
    )
    check_length(kind, length, greeted)
    if not 1 <= kind <= 15 and flags & 2:
        raise Refused("version", f"a critical frame of kind {kind}")
    body = stream[at + 16 : at + 16 + length]
    end = at + 16 + (length + 7) // 8 * 8
    need(len(body) == length and len(stream) >= end, "the stream ends in a frame")
    need(not any(stream[at + 16 + length : end]), "padding is not zero")
    return header, read_message(kind, body), end


def read_message(kind, body):
    if kind == DATA:
        return body
    if kind in EMPTY_KINDS or kind not in SCHEMA:
        return None
    reader = Cbor(body)
    message = reader.value()
    need(reader.at == len(body), "bytes follow the message's end")
    SCHEMA[kind](message)
    return message


def read_stream(stream):
    need(stream[:7] == PREFACE[:7], "a stranger")
    if stream[7] != PREFACE[7]:
        raise Refused("version", f"version {stream[7]} of the wire")
    at, greeted = 8, False
    while at < len(stream):
        header, _, at = read_frame(stream, at, greeted)
        greeted = greeted or header["kind"] == HELLO


def as_json(value):
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value


def problem_with(vector):
    """What is wrong with a vector, or None."""
    stream = bytes.fromhex(vector["hex"])
    if "error" in vector:
        try:
            read_stream(stream)
        except Refused as refused:
            return (
                None
                if refused.args[0] == vector["error"]
                else f"refused as {refused.args}, not {vector['error']}"
            )
        return "accepted"
    header, message, end = read_frame(stream, 0)
    if header != vector["frame"]:
        return f"header {header}"
    if end != len(stream):
        return f"{len(stream) - end} bytes left over"
    return None if as_json(message) == vector["message"] else f"message {as_json(message)}"


def main():
    vectors = json.loads(pathlib.Path(__file__).with_name("wire.json").read_text())
    problems = [(vector["name"], problem_with(vector)) for vector in vectors]
    wrong = [f"{name}: {problem}" for name, problem in problems if problem]
    print("\n".join(wrong + [f"{len(vectors) - len(wrong)} passed, {len(wrong)} failed"]))
    return 1 if wrong or len(vectors) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
