#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wrappers of one MPI library from its own mpi.h, and further headers that declare
functions of it.

Reads the prototypes (preprocessed by the compiler) and shim/functions.txt, which gives the
functions that are special their fate. Holds no decisions about single functions: see shim/README.md
for the fates and the files that come out. """

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))
from observed_functions import observation_of, observed_body  # noqa: E402
from mpi_functions import (  # noqa: E402
    BLOCKING,
    FILE_ACCESS,
    INPUTS,
    find_nonblocking,
    include_lines,
    read_fates,
    read_prototypes,
)

# Of what other files define: without it the compiler looks the address up in a table, as for other
# libraries' names.
HIDDEN = '__attribute__((visibility("hidden")))'
SHORT_WAYS = ("intercept_fast", "intercept_start")  # of fast_path.hpp
FILES = 8  # wrappers are spread over so many files, to build in parallel


def short_way_wrapper(function, observation):
    """All ways are calls with the wrapper's own arguments, which stay where they are: the compiler
    makes jumps of them. What only starts a message does not look at the job before fast_path::X
    finds that it does not stay inside this system."""
    name, args, declared = function.short, function.passed(), function.declared()
    find_job, fast_args, joined = (
        "",
        args,
        "the_job.load(std::memory_order_acquire) != nullptr && ",
    )
    if function.fate == "intercept_fast":
        find_job = (
            f"  const Job* job = the_job.load(std::memory_order_acquire);\n"
            f"  if (job == nullptr) return vendor::raw::{name}({args});\n"
        )
        fast_args, joined = function.passed("*job"), ""
    observed, observe = "", ""
    if observation is not None:
        arguments = function.declared("const Job* job") if fast_args != args else declared
        body = observed_body(observation, function, f"fast_path::{name}({fast_args})")
        observed = f"[[gnu::noinline]] static {function.result} observed_{name}({arguments}) {{\n{body}\n}}\n"
        passed = function.passed("job") if fast_args != args else args
        observe = f"if (calls_are_observed()) [[unlikely]] return observed_{name}({passed}); "
    return observed + (
        f"[[gnu::cold, gnu::noinline]] static {function.result} inside_vendor_{name}({declared}) {{\n"
        f"  return {joined}in_fortran_layer(caller_inside_vendor) ? calls::{name}({args}) : vendor::raw::{name}({args});\n}}\n"
        f'extern "C" __attribute__((visibility("default"))) {function.result} {function.name}({declared}) {{\n'
        f"{find_job}"
        f"  if (vendor_depth.value() == 0) [[likely]] {{ {observe}return fast_path::{name}({fast_args}); }}\n"
        f"  caller_inside_vendor = __builtin_return_address(0);\n"
        f"  return inside_vendor_{name}({args});\n}}\n"
    )


def joined_lines(function, nonblocking):
    """What a call of the user's does in a joined job, which `job` points to."""
    name, args = function.short, function.passed()
    give = "" if function.result == "void" else "return "
    lines = []
    if function.fate in ("intercept", "collective", "file_access"):
        if nulls := function.made_null(("MPI_Comm",)):
            any_spans = " || ".join(
                f"spanning(job, {comm}) != nullptr" for comm in function.values_of("MPI_Comm")
            )
            lines.append(f"    if ({any_spans}) {{ {nulls}}}")
        return lines + [f"    {give}calls::{name}({function.passed('*job')});"]
    if function.fate == "refuse":
        for comm in function.values_of("MPI_Comm"):
            lines.append(
                f'    if (spanning(job, {comm}) != nullptr) {{ {function.made_null()}{give}refuse({comm}, "{function.name}"); }}'
            )
        for request in function.values_of("MPI_Request"):
            lines.append(
                f'    if (is_own_request({request})) {give}refuse(MPI_COMM_WORLD, "{function.name}");'
            )
        for group in function.values_of("MPI_Group"):
            lines.append(f'    if (is_own_group({group})) {give}refuse_group("{function.name}");')
        for message in function.messages():
            lines.append(
                f'    if (is_own_message(*{message})) {give}refuse(MPI_COMM_WORLD, "{function.name}");'
            )
        for kind, (check, refusal) in INPUTS.items():
            for array, count in function.arrays_of(kind):
                each = f"{array}[place]"
                lines.append(
                    f"    for (MPI_Count place = 0; place < {count}; ++place) {{\n"
                    f"      if ({check.format(each)}) {give}{refusal.format(each, json.dumps(function.name))};\n    }}"
                )
    if function.fate == "refuse_joined":
        refusal = f'refuse_joined("{function.name}", {json.dumps(function.reason)})'
        return lines + [f"    {function.made_null()}{give}{refusal};"]
    blocks = name in nonblocking or BLOCKING.match(function.name)
    call = f"native::{name}({function.passed('*job')})" if blocks else f"vendor::{name}({args})"
    return lines + [f"    {give}{call};"]


def long_way_wrapper(function, nonblocking, observation):
    name, args, lines = function.short, function.passed(), []
    give = "" if function.result == "void" else "return "
    variadic = ", ..." if function.variadic else ""
    joined = joined_lines(function, nonblocking)
    if observation is not None:
        declared, passed = function.declared("[[maybe_unused]] Job* job"), function.passed("job")
        lines.append(f"static inline {function.result} joined_{name}({declared}) {{")
        lines += joined + ["}"]
        lines.append(f"[[gnu::noinline]] static {function.result} observed_{name}({declared}) {{")
        lines += [observed_body(observation, function, f"joined_{name}({passed})"), "}"]
        joined = [
            f"    if (calls_are_observed()) [[unlikely]] return observed_{name}({passed});",
            f"    return joined_{name}({passed});",
        ]
    lines.append(
        f'extern "C" __attribute__((visibility("default"))) {function.result} '
        f"{function.name}({function.declared()}{variadic}) {{"
    )
    if function.fate == "always":
        return lines + [f"  {give}calls::{name}({args});", "}"]
    lines.append("  if (Job* job = called_by_user(); job != nullptr) {")
    return lines + joined + ["  }", f"  {give}vendor::raw::{name}({args});", "}"]


def wrapper(function, nonblocking):
    observation = None
    if function.fate not in ("always", "refuse_joined") and function.result == "int":
        observation = observation_of(function, nonblocking)
    if function.fate in SHORT_WAYS:
        lines = [short_way_wrapper(function, observation)]
    else:
        lines = long_way_wrapper(function, nonblocking, observation)
    lines.append(
        f'extern "C" __attribute__((visibility("default"), alias("{function.name}"))) {function.result} '
        f"P{function.name}({function.declared()}{', ...' if function.variadic else ''});"
    )
    return "\n".join(lines)


def vendor_header(functions, headers):
    out = [
        "// Written by scripts/gen_wrappers.py.",
        "#pragma once",
        *include_lines(headers),
        "#include <atomic>",
        '#include "shim/handle/inside_vendor.hpp"',
        f"namespace impishim::shim::vendor {{\nnamespace pointers {HIDDEN} {{",
        "inline constexpr auto kOrder = std::memory_order_relaxed;",
    ]
    for function in functions:
        out.append(f"extern std::atomic<decltype(&::P{function.name})> {function.short};")
    out.append("}\nnamespace raw {")
    for function in functions:
        out.append(
            f"inline {function.result} {function.short}({function.declared()}) "
            f"{{ return pointers::{function.short}.load(pointers::kOrder)({function.passed()}); }}"
        )
    out.append("}")
    for function in functions:
        out.append(
            f"inline {function.result} {function.short}({function.declared()}) "
            f"{{ const InsideVendor inside; return raw::{function.short}({function.passed()}); }}"
        )
    return "\n".join(out + ["}"]) + "\n"


def native_header(functions, nonblocking):
    """native::X of a function that blocks inside this system: marked for the progress thread, or
    polled."""
    out = [
        "// Written by scripts/gen_wrappers.py.",
        "#pragma once",
        '#include "shim/completion/native_stand.hpp"',
        '#include "shim/vendor.hpp"',
        '#include "shim/completion/wait.hpp"',
        "namespace impishim::shim::native {",
    ]
    for function in functions:
        args = function.passed()
        polled = function.short in nonblocking
        stand = (
            f"static constexpr VendorCallKind kCall{{\"{function.name}\", {'true' if polled else 'false'}}};\n"
            f"  const NativeStand stand(job, kCall);\n"
        )
        if BLOCKING.match(function.name) and not polled:
            out.append(
                f"inline int {function.short}({function.declared('Job& job')}) {{\n  {stand}"
                f"  return vendor::{function.short}({args});\n}}"
            )
        if not polled:
            continue
        twin = nonblocking[function.short]
        # Blocking and nonblocking collectives do not match (MPI-3.1 5.12): all members must choose
        # alike, whatever each has outstanding. A barrier is the one that programs synchronise with,
        # and costs the same in both forms.
        blocking = (
            ""
            if function.short == "Barrier"
            else (
                f"  if (!job.polls_collectives) [[likely]] {{\n  {stand}  return vendor::{function.short}({args});\n  }}\n"
            )
        )
        out.append(
            f"inline int {function.short}({function.declared('Job& job')}) {{\n"
            f"{blocking}"
            f"  MPI_Request request = MPI_REQUEST_NULL;\n"
            f"  const int code = vendor::{twin}({args}, &request);\n"
            f"  return code == MPI_SUCCESS ? poll_native(job, request) : code;\n}}"
        )
    out.append("}")
    return "\n".join(out) + "\n"


def handled_header(functions, headers):
    out = ["// Written by scripts/gen_wrappers.py.", "#pragma once", *include_lines(headers)]
    out += [f"#define IMPISHIM_HAVE_{function.name} 1" for function in functions]
    names = ", ".join(f'"{function.name}"' for function in functions)
    out.append(f"namespace impishim::shim {{\nstruct Job;")
    out.append(f"inline constexpr const char* kFunctionNames[] = {{{names}}};")
    out.append(f"namespace calls {HIDDEN} {{")
    for function in functions:
        if function.fate in ("intercept", "collective", "file_access"):
            out.append(f"{function.result} {function.short}({function.declared('Job& job')});")
        elif function.fate == "always" or function.fate in SHORT_WAYS:
            out.append(f"{function.result} {function.short}({function.declared()});")
    return "\n".join(out + ["}", "}"]) + "\n"


def pointers_source(functions):
    out = [
        "// Written by scripts/gen_wrappers.py.",
        '#include "shim/vendor.hpp"',
        '#include "shim/entry/vendor_lookup.hpp"',
        "namespace impishim::shim::vendor {",
        "namespace {",
    ]
    for function in functions:
        out.append(
            f"{function.result} first_{function.short}({function.declared()}{', ...' if function.variadic else ''}) {{\n"
            f'  pointers::{function.short}.store(reinterpret_cast<decltype(&::P{function.name})>(resolve("P{function.name}")), '
            f"pointers::kOrder);\n"
            f"  return raw::{function.short}({function.passed()});\n}}"
        )
    out.append("}\nnamespace pointers {")
    for function in functions:
        out.append(
            f"constinit std::atomic<decltype(&::P{function.name})> {function.short}{{first_{function.short}}};"
        )
    return "\n".join(out + ["}", "}"]) + "\n"


def collective_call(function, nonblocking):
    """calls::X of a collective: on a spanning communicator the hand-written collective_arguments::X
    describes its arguments."""
    passed = [
        parameter.name
        for parameter in function.parameters
        if not any(parameter.is_value(kind) for kind in ("MPI_Comm", "MPI_Info", "MPI_Request *"))
    ]
    comm = function.values_of("MPI_Comm")[0]
    request = "".join(
        f"{parameter.name}, "
        for parameter in function.parameters
        if parameter.is_value("MPI_Request *")
    )
    native = (
        f"native::{function.short}({function.passed('job')})"
        if function.short in nonblocking
        else (f"vendor::{function.short}({function.passed()})")
    )
    # A persistent operation's arguments outlive the call.
    capture = "=" if function.way == "init" else "&"
    return (
        f"int {function.short}({function.declared('Job& job')}) {{\n"
        f"  Communicator* communicator = spanning(&job, {comm});\n"
        f"  if (communicator == nullptr) return {native};\n"
        f"  return {function.way}_collective(job, *communicator, \"{function.name}\", {request}[{capture}](Collective& call) {{\n"
        f"    return collective_arguments::{function.base}({', '.join(['call'] + passed)});\n"
        f"  }});\n}}"
    )


def file_access_call(function):
    """calls::X of a data access function of files: shim/io does what the vendor's function of the
    same name cannot."""
    nonblocking, direction, explicit, together, split, _ = FILE_ACCESS.match(function.name).groups()
    position = {"_shared": "Shared", "_ordered": "Ordered"}.get(
        together, "Explicit" if explicit else "Individual"
    )
    form = {"_begin": "Begin", "_end": "End"}.get(
        split, "Nonblocking" if nonblocking else "Blocking"
    )
    way = (
        f"{{.writes = {'true' if direction == 'write' else 'false'}, .position = FileWay::Position::k{position}, "
        f".collective = {'true' if together in ('_all', '_ordered') else 'false'}, .form = FileWay::Form::k{form}}}"
    )
    fields = {
        "MPI_Offset": ".offset = {}",
        "void *": ".buffer = const_cast<void*>({})",
        "int": ".count = {}",
        "MPI_Count": ".count = {}",
        "MPI_Datatype": ".datatype = {}",
        "MPI_Status *": ".status = {}",
        "MPI_Request *": ".request = {}",
    }
    given = [
        text.format(parameter.name)
        for kind, text in fields.items()
        for parameter in function.parameters
        if parameter.is_value(kind)
    ]
    file = function.values_of("MPI_File")[0]
    native = (
        f"native::{function.short}({function.passed('job')})"
        if BLOCKING.match(function.name)
        else f"vendor::{function.short}({function.passed()})"
    )
    return (
        f"int {function.short}({function.declared('Job& job')}) {{\n"
        f"  constexpr FileWay kWay{way};\n"
        f"  File* spanning = spanning_file(job, {file});\n"
        f"  if (spanning == nullptr || spanning->in_vendor(kWay)) return {native};\n"
        f"  return access_file({{{', '.join(['.job = job', '.file = *spanning', f'.function = {json.dumps(function.name)}', '.way = kWay'] + given)}}});\n}}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument(
        "--define", action="append", default=[], help="macro to set before the headers are read"
    )
    parser.add_argument("--header", action="append", help="default: mpi.h")
    parser.add_argument("--functions", required=True)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    headers = arguments.header or ["mpi.h"]
    functions = read_prototypes(arguments.compiler, arguments.include, arguments.define, headers)
    read_fates(arguments.functions, functions)
    nonblocking = find_nonblocking(functions)
    ordered = [functions[name] for name in sorted(functions)]
    for number, function in enumerate(ordered):
        function.number = number
    output = pathlib.Path(arguments.output)
    (output / "shim").mkdir(parents=True, exist_ok=True)
    (output / "shim/vendor.hpp").write_text(vendor_header(ordered, headers))
    (output / "shim/native.hpp").write_text(native_header(ordered, nonblocking))
    (output / "shim/entry_points.hpp").write_text(handled_header(ordered, headers))
    (output / "vendor_pointers.cpp").write_text(pointers_source(ordered))
    head = [
        '// Written by scripts/gen_wrappers.py.',
        '#include "shim/entry/call_origin.hpp"',
        '#include "shim/entry_points.hpp"',
        '#include "shim/entry/fast_path.hpp"',
        '#include "shim/job/job.hpp"',
        '#include "shim/monitor/observed_call.hpp"',
        '#include "shim/native.hpp"',
        '#include "shim/handle/own_handle.hpp"',
        '#include "shim/error/refusal.hpp"',
        '#include "shim/vendor.hpp"',
        "using namespace impishim::shim;  // NOLINT",
    ]
    for part in range(FILES):
        undefined = [
            f"#undef {prefix}{function.name}"
            for function in ordered[part::FILES]
            for prefix in ("", "P")
        ]
        body = [wrapper(function, nonblocking) for function in ordered[part::FILES]]
        (output / f"wrappers_{part}.cpp").write_text("\n".join(head + undefined + body) + "\n")
    calls = [
        collective_call(function, nonblocking)
        for function in ordered
        if function.fate == "collective"
    ]
    (output / "collective_calls.cpp").write_text(
        "\n".join(
            [
                "// Written by scripts/gen_wrappers.py.",
                '#include "shim/coll/collective_arguments.hpp"',
                '#include "shim/coll/collective_queue.hpp"',
                '#include "shim/entry_points.hpp"',
                '#include "shim/native.hpp"',
                '#include "shim/vendor.hpp"',
                "namespace impishim::shim::calls {",
            ]
            + calls
            + ["}"]
        )
        + "\n"
    )
    accesses = [
        file_access_call(function) for function in ordered if function.fate == "file_access"
    ]
    (output / "file_access_calls.cpp").write_text(
        "\n".join(
            [
                "// Written by scripts/gen_wrappers.py.",
                '#include "shim/entry_points.hpp"',
                '#include "shim/io/file.hpp"',
                '#include "shim/io/file_access.hpp"',
                '#include "shim/native.hpp"',
                '#include "shim/vendor.hpp"',
                "namespace impishim::shim::calls {",
            ]
            + accesses
            + ["}"]
        )
        + "\n"
    )
    listing = [f"{function.name}\t{function.fate}\t{function.reason}" for function in ordered]
    (output / "wrapped.txt").write_text("\n".join(listing) + "\n")


if __name__ == "__main__":
    main()
