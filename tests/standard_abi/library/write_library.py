#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes an MPI library of the standard ABI (MPI 5.0, chapter 20) over MPICH, for machines that have
none: mpi_abi.h, and functions that convert their arguments. They are compiled twice: MPI_X are in
libmpi_abi.so and PMPI_X in libpmpi_abi.so, and neither needs the other, as in MPICH."""

import argparse
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "scripts/lib"))
from mpi_functions import Function, read_prototypes  # noqa: E402

# What MPI 3.0 removed, and what is not part of the C binding of this ABI.
REMOVED = re.compile(
    r"MPI_(Address|Errhandler_(create|get|set)|Type_(extent|hindexed|hvector|lb|struct|ub))$"
    r"|MPI_\w*(c2f|f2c|f082|2f08)|MPIX_"
)
# Written by hand in special.cpp.
SPECIAL = re.compile(
    r"MPI_(Op_create(_c)?|(Comm|Win|File|Session)_create_errhandler|Keyval_create"
    r"|(Comm|Type|Win)_create_keyval|(Comm|Win)_get_attr|Attr_get|Grequest_start"
    r"|Type_get_contents|Get_version)$"
)
LEFT_OUT = re.compile(r"MPI_(Register_datarep(_c)?|Type_get_contents_c|T_event_\w+)$")
NEW = [Function("int", "MPI_Abi_get_version", "int *abi_major, int *abi_minor")]
NEW += [
    function
    for name in "Comm Datatype Errhandler File Group Info Message Op Request Session Win".split()
    for function in (
        Function("int", f"MPI_{name.replace('Datatype', 'Type')}_toint", f"MPI_{name} handle"),
        Function(f"MPI_{name}", f"MPI_{name.replace('Datatype', 'Type')}_fromint", "int number"),
    )
]

HANDLES = {
    f"MPI_{name}": f"Kind::k{name}"
    for name in ("Comm Datatype Errhandler File Group Info Message Op Request Session Win".split())
}
NUMBERS = {
    "comm_keyval": "Keyval",
    "type_keyval": "Keyval",
    "win_keyval": "Keyval",
    "keyval": "Keyval",
    "source": "Rank",
    "dest": "Rank",
    "root": "Rank",
    "rank": "Rank",
    "target_rank": "Rank",
    "rank_source": "Rank",
    "rank_dest": "Rank",
    "tag": "Tag",
    "sendtag": "Tag",
    "recvtag": "Tag",
    "errorcode": "ErrorCode",
    "errorclass": "ErrorCode",
    "required": "ThreadLevel",
    "provided": "ThreadLevel",
    "order": "Order",
    "lock_type": "LockType",
    "whence": "Whence",
    "split_type": "SplitType",
    "combiner": "Combiner",
    "typeclass": "TypeClass",
    "verbosity": "Verbosity",
    "bind": "Binding",
    "scope": "Scope",
    "var_class": "VariableClass",
}
NUMBER_ARRAYS = {
    "ranks1": ("Rank", "n"),
    "ranks2": ("Rank", "n"),
    "array_of_distribs": ("Distribution", "ndims"),
    "array_of_dargs": ("Distribution", "ndims"),
    "array_of_errcodes": ("ErrorCode", "maxprocs"),
}
PLAIN_POINTERS = ("extra_state", "attribute_val", "user_data", "base", "baseptr", "obj_handle")


class Converted:
    """The body of a function, argument by argument."""

    def __init__(self, function):
        self.function = function
        self.before, self.passed, self.after = [], [], []
        self.count = ""
        for parameter in function.parameters:
            self.add(parameter)

    def signature(self):
        parts = []
        for parameter in self.function.parameters:
            kind, array = parameter.type, parameter.suffix
            for handle in HANDLES:
                kind = re.sub(rf"\b{handle}\b(?! ?_)", "Handle", kind)
            kind = re.sub(r"\bMPI_Status\b", "Status", kind)
            if kind.endswith("_function *") or kind.endswith("_function_c *"):
                kind = "void*"
            parts.append(f"{kind} {parameter.name}{array}")
        return ", ".join(parts) or "void"

    def length_of_array(self, name):
        short = self.function.short
        if re.match(r"I?(neighbor_)?alltoallw", short, re.IGNORECASE):
            comm = "vendor_value<MPI_Comm>(Kind::kComm, comm)"
            if "neighbor" in short.lower():
                return f"neighbours({comm}, {'true' if name == 'recvtypes' else 'false'})"
            return f"peers({comm})"
        return self.count

    def add(self, parameter):
        name, kind = parameter.name, parameter.type.replace("const", "").strip()
        constant = "const" in parameter.type
        pointer = kind.endswith("*")
        base = kind.rstrip("* ").strip()
        if base in HANDLES and not pointer and not parameter.suffix:
            self.passed.append(f"vendor_value<{base}>({HANDLES[base]}, {name})")
        elif base in HANDLES:
            one = pointer and not parameter.suffix
            length = "1" if one else self.length_of_array(name)
            shape = "Inputs" if constant else "InOut"
            self.before.append(f"{shape}<{base}> {name}_({HANDLES[base]}, {name}, {length});")
            # The operation may read the array until it is complete.
            kept = constant and re.match(r"I[a-z]|.*_init(_c)?$", self.function.short)
            self.passed.append(f"{name}_.{'kept' if kept else 'vendor'}()")
        elif base == "MPI_Status":
            one = name == "status"
            length = "1" if one else self.count
            writes = "false" if constant else "true"
            self.before.append(f"Statuses {name}_({name}, {length}, {writes});")
            self.passed.append(f"{name}_.vendor()")
        elif name in NUMBER_ARRAYS:
            what, length = NUMBER_ARRAYS[name]
            if self.function.short == "Comm_spawn_multiple":
                self.passed.append(name)
                return
            writes = "false" if constant else "true"
            self.before.append(f"Integers {name}_(Kind::k{what}, {name}, {length}, {writes});")
            self.passed.append(f"{name}_.vendor()")
        elif base == "int":
            self.add_integer(parameter, name, pointer, constant)
        elif base == "void" and pointer and name not in PLAIN_POINTERS:
            self.passed.append(f"vendor_buffer({name})")
        else:
            self.passed.append(name)
        if parameter.is_value("int") or parameter.is_value("MPI_Count"):
            self.count = name

    def add_integer(self, parameter, name, pointer, constant):
        what = NUMBERS.get(name)
        if name == "result" and pointer:
            what = "Comparison"
        if name == "status" and self.function.short == "Topo_test":
            what = "Topology"
        if self.function.short in ("Cart_rank", "Group_rank", "Comm_rank") and pointer:
            what = "Rank"
        if self.function.short.startswith("T_cat") or parameter.suffix:
            what = what if not parameter.suffix else None
        if re.search("weights$", name):
            self.passed.append(f"vendor_weights({name})")
        elif name == "assert":
            self.passed.append("vendor_assertion(assert_)")
        elif name == "amode":
            if pointer:
                self.after.append("*amode = standard_access_mode(*amode);")
                self.passed.append(name)
            else:
                self.passed.append("vendor_access_mode(amode)")
        elif what and pointer:
            self.before.append(
                f"Integers {name}_(Kind::k{what}, {name}, 1, {'false' if constant else 'true'});"
            )
            self.passed.append(f"{name}_.vendor()")
        elif what:
            self.passed.append(f"static_cast<int>(to_vendor(Kind::k{what}, {name}))")
        else:
            self.passed.append(name)

    def text(self):
        function = self.function
        signature = re.sub(r"\bint assert\b", "int assert_", self.signature())
        name = f"standard_{function.short}"
        lines = [
            f"{function.result} {name}({signature}) EXPORTED(\"{function.name}\");",
            f"{function.result} {name}({signature}) {{",
        ]
        call = f"VENDOR(P{function.name})({', '.join(self.passed)})"
        lines += [f"  {line}" for line in self.before]
        if function.result == "int":
            lines.append(f"  const int code = {call};")
            lines += [f"  {line}" for line in self.after]
            lines.append("  return standard_error(code);")
        else:
            lines.append(f"  return {call};")
        return "\n".join([*lines, "}"])


def library_text(functions):
    out = [
        "// Written by tests/standard_abi/library/write_library.py.",
        '#include "conversion.hpp"',
        "using namespace standard;",
        'extern "C" {',
    ]
    for function in functions:
        if SPECIAL.match(function.name) or function in NEW:
            continue
        if LEFT_OUT.match(function.name):
            out.append(
                f"int standard_{function.short}() EXPORTED(\"{function.name}\");\n"
                f"int standard_{function.short}() {{ leave_out(\"{function.name}\"); }}"
            )
        elif function.variadic:
            # MPI_Pcontrol: a library without a profile ignores it.
            out.append(
                f"int standard_{function.short}(int /*level*/, ...) EXPORTED(\"{function.name}\");\n"
                f"int standard_{function.short}(int /*level*/, ...) {{ return 0; }}"
            )
        else:
            out.append(Converted(function).text())
    return "\n".join([*out, "}"]) + "\n"


def numbers_text(header):
    """The named values of mpi_abi.h as constants k_MPI_X, which no macro of MPICH's changes."""
    values = {}
    for name, value in re.findall(r"#define (MPI_\w+) \(\(MPI_\w+\)(-?\w+)\)", header):
        values[name] = int(value, 0)
    for name, value in re.findall(r"#define (MPI_\w*VERSION) (\d+)$", header, re.MULTILINE):
        values[name] = int(value)
    for body in re.findall(r"enum \{([^}]*)\}", header):
        following = 0
        for item in body.split(","):
            name, _, value = (part.strip() for part in item.partition("="))
            if not name:
                continue
            following = int(value, 0) if value else following
            values[name] = following
            following += 1
    out = [
        "// Written by tests/standard_abi/library/write_library.py.",
        "#pragma once",
        "#include <cstdint>",
    ]
    out.append("namespace standard::numbers {")
    out += [f"inline constexpr std::intptr_t k_{name} = {value};" for name, value in values.items()]
    return "\n".join([*out, "}"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--include", action="append", default=[], help="of MPICH's mpi.h")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    chosen = parser.parse_args()
    declared = read_prototypes(chosen.compiler, chosen.include, [], ["mpi.h"])
    functions = [f for name, f in declared.items() if not REMOVED.match(name)] + NEW
    prototypes = "\n".join(
        f"{f.result} {prefix}{f.name}({f.declared()}{', ...' if f.variadic else ''});"
        for f in functions
        for prefix in ("", "P")
    )
    header = (HERE / "mpi_abi.h.in").read_text()
    include = chosen.output / "include"
    include.mkdir(parents=True, exist_ok=True)
    (include / "mpi_abi.h").write_text(header.replace("@PROTOTYPES@", prototypes))
    (include / "mpi.h").write_text("#include <mpi_abi.h>\n")
    (chosen.output / "standard_numbers.hpp").write_text(numbers_text(header))
    (chosen.output / "functions.cpp").write_text(library_text(functions))


if __name__ == "__main__":
    main()
