# SPDX-License-Identifier: Apache-2.0
"""How data stands in messages: external32 (MPI 13.5.2), or native as x86-64 has it."""

import struct


class External32:
    """Big-endian, long of 4 bytes, long double as IEEE binary128."""

    codes = {
        "char": ">b",
        "short": ">h",
        "int": ">i",
        "long": ">i",
        "long long": ">q",
        "float": ">f",
        "double": ">d",
    }
    # A struct of int and double has no gap.
    pair = ">id"

    @staticmethod
    def long_double(value):
        """A value that a double holds, normal and not zero."""
        bits = struct.unpack(">Q", struct.pack(">d", value))[0]
        sign, exponent, fraction = bits >> 63, bits >> 52 & 0x7FF, bits & (1 << 52) - 1
        return (sign << 127 | exponent - 1023 + 16383 << 112 | fraction << 60).to_bytes(16, "big")

    @classmethod
    def pack(cls, kind, values):
        if kind == "long double":
            return b"".join(map(cls.long_double, values))
        code = cls.codes[kind]
        return struct.pack(code[0] + str(len(values)) + code[1], *values)

    @classmethod
    def unpack(cls, kind, data):
        code = cls.codes[kind]
        return [value[0] for value in struct.iter_unpack(code, data)]


class Native(External32):
    codes = {
        "char": "<b",
        "short": "<h",
        "int": "<i",
        "long": "<q",
        "long long": "<q",
        "float": "<f",
        "double": "<d",
    }
    pair = "<id"

    @staticmethod
    def long_double(value):
        """x87's 80 bits: the leading one of the fraction is written."""
        bits = struct.unpack(">Q", struct.pack(">d", value))[0]
        sign, exponent, fraction = bits >> 63, bits >> 52 & 0x7FF, bits & (1 << 52) - 1
        return (
            (1 << 63 | fraction << 11).to_bytes(8, "little")
            + (sign << 15 | exponent - 1023 + 16383).to_bytes(2, "little")
            + bytes(6)
        )
