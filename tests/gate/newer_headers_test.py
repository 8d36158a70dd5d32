# SPDX-License-Identifier: Apache-2.0
"""scripts/gen_wrappers.py and shim/functions.txt on declarations of newer MPI libraries than those
of this machine (headers/): no function that reaches a joined job's objects is passed on unseen."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

GENERATOR, FUNCTIONS = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
HEADERS = pathlib.Path(__file__).resolve().parent / "headers"
TWINS = """#define TWIN(result, name, parameters) result MPI_##name parameters; result PMPI_##name parameters;
#define TWIN_X(result, name, parameters) result MPIX_##name parameters; result PMPIX_##name parameters;
"""
# What the library's own headers declare, as far as wrappers need it.
STUBS = {
    "mpi.h": "",
    "shim/entry/call_origin.hpp": "namespace impishim::shim { struct Job; Job* called_by_user();\n"
    "extern const void* caller_inside_vendor; bool in_fortran_layer(const void*); }\n",
    "shim/entry/fast_path.hpp": '#include "shim/job/job.hpp"\nnamespace impishim::shim::fast_path {\n'
    "int Send(const Job&, const void*, int, MPI_Datatype, int, int, MPI_Comm); }\n",
    "shim/job/job.hpp": "#pragma once\n#include <atomic>\n#include <mpi.h>\nnamespace impishim::shim {\n"
    "struct Job { bool polls_collectives; }; extern std::atomic<Job*> the_job;\n"
    "void* spanning(const Job*, MPI_Comm); }\n",
    "shim/handle/own_handle.hpp": "#include <mpi.h>\nnamespace impishim::shim { bool is_own_request(MPI_Request);\n"
    "bool is_own_message(MPI_Message); bool is_own_group(MPI_Group); }\n",
    "shim/handle/inside_vendor.hpp": "#pragma once\nnamespace impishim::shim {\n"
    "struct VendorDepth { int value() const; }; extern VendorDepth vendor_depth;\n"
    "struct InsideVendor { InsideVendor(); ~InsideVendor(); }; }\n",
    "shim/error/refusal.hpp": "#include <mpi.h>\nnamespace impishim::shim { int refuse(MPI_Comm, const char*);\n"
    "int refuse_group(const char*); int refuse_joined(const char*, const char*); }\n",
    "shim/completion/wait.hpp": '#pragma once\n#include "shim/job/job.hpp"\n'
    "namespace impishim::shim { int poll_native(Job&, MPI_Request); }\n",
    "shim/completion/native_stand.hpp": "#pragma once\nnamespace impishim::shim { struct Job;\n"
    "struct VendorCallKind { const char* function; bool collective; };\n"
    "struct NativeStand { NativeStand(Job&, const VendorCallKind&); ~NativeStand(); }; }\n",
}
NULLS = "".join(
    f"#define MPI_{kind}_NULL ((MPI_{name})0)\n"
    for kind, name in (
        ("COMM", "Comm"),
        ("GROUP", "Group"),
        ("REQUEST", "Request"),
        ("WIN", "Win"),
        ("FILE", "File"),
    )
)


class NewerHeader:
    """The tests, for one header."""

    header = ""
    expected = {}

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.out = pathlib.Path(directory.name)
        self.text = (HEADERS / self.header).read_text()
        (self.out / "mpi.h").write_text(TWINS + self.text)
        command = [sys.executable, GENERATOR, "--include", self.out, "--functions", FUNCTIONS]
        done = subprocess.run(
            [*command, "--output", self.out], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split("\t") for line in (self.out / "wrapped.txt").read_text().splitlines()]
        self.rows = {name: (fate, reason) for name, fate, reason in rows}
        self.wrappers = "".join(
            file.read_text() for file in sorted(self.out.glob("wrappers_*.cpp"))
        )

    def body(self, function):
        """The wrapper of `function`, behind what it does in a joined job where that is a function of
        its own."""
        text = ""
        for name in (f" joined_{function.removeprefix('MPI_')}(", f" {function}("):
            if (start := self.wrappers.find(name)) >= 0:
                text += self.wrappers[start : self.wrappers.index("\n}\n", start)]
        return text

    def declarations(self):
        """Name and parameters of each function, read without the generator."""
        for prefix, name, parameters in re.findall(
            r"^TWIN(_X)?\(\w+, (\w+), \((.*)\)\)$", self.text, re.MULTILINE
        ):
            yield ("MPIX_" if prefix else "MPI_") + name, parameters

    def test_all_are_wrapped(self):
        self.assertEqual(set(self.rows), {name for name, _ in self.declarations()})

    def test_fates(self):
        self.assertEqual({name: self.rows[name][0] for name in self.expected}, self.expected)

    def test_unknown_functions_are_refused(self):
        """Whatever takes a handle of the joined job by value or in an array is decided by hand, or
        checks that handle; what is passed on has a line in functions.txt that says why."""
        listed = {line.split()[0] for line in FUNCTIONS.read_text().splitlines() if line.strip()}
        for name, parameters in self.declarations():
            taken = re.findall(r"\bMPI_(Comm|Request|Group) (\w+)(\[\])?(?:,|$)", parameters)
            fate = self.rows[name][0]
            if not taken or fate not in ("forward", "refuse"):
                continue
            if fate == "forward":
                self.assertIn(name, listed, f"{name} is passed on")
                continue
            for kind, argument, array in taken:
                handle = f"{argument}[place]" if array else argument
                check = (
                    f"spanning(job, {handle})"
                    if kind == "Comm"
                    else f"is_own_{kind.lower()}({handle})"
                )
                self.assertIn(check, self.body(name), name)

    def test_output_compiles(self):
        for path, text in STUBS.items():
            (self.out / path).parent.mkdir(parents=True, exist_ok=True)
            if text:
                (self.out / path).write_text(text)
        for path in ("collective_arguments", "collective_queue"):
            (self.out / "shim/coll").mkdir(parents=True, exist_ok=True)
            (self.out / f"shim/coll/{path}.hpp").write_text("")
        (self.out / "shim/monitor").mkdir()
        shutil.copy(HEADERS / "observed_call.hpp.in", self.out / "shim/monitor/observed_call.hpp")
        (self.out / "mpi.h").write_text(
            f'#pragma once\nextern "C" {{\n#define MPI_SUCCESS 0\n#define MPI_COMM_WORLD MPI_COMM_NULL\n'
            f"{NULLS}{TWINS}{self.text}}}\n"
        )
        sources = sorted(self.out.glob("wrappers_*.cpp"))
        whole = self.out / "all.cpp"
        whole.write_text("".join(f'#include "{source.name}"\n' for source in sources))
        done = subprocess.run(
            ["c++", "-std=c++20", "-fsyntax-only", f"-I{self.out}", whole],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr[:3000])


class Mpich5(NewerHeader, unittest.TestCase):
    header = "mpich_5.h.in"
    expected = {
        "MPI_Abi_get_version": "forward",
        "MPI_Bcast_c": "collective",
        "MPI_Bcast_init": "collective",
        "MPI_Buffer_flush": "refuse_joined",
        "MPI_Buffer_iflush": "refuse_joined",
        "MPI_Comm_attach_buffer": "refuse",
        "MPI_Comm_attach_buffer_c": "refuse",
        "MPI_Comm_create_from_group": "intercept",
        "MPI_Comm_detach_buffer": "refuse",
        "MPI_Comm_flush_buffer": "refuse",
        "MPI_Comm_idup_with_info": "intercept",
        "MPI_Comm_iflush_buffer": "refuse",
        "MPI_Comm_toint": "forward",
        "MPI_Get_hw_resource_info": "forward",
        "MPI_Ibcast_c": "collective",
        "MPI_Intercomm_create_from_groups": "intercept",
        "MPI_Isendrecv": "intercept",
        "MPI_Psend_init": "intercept",
        "MPI_Remove_error_class": "forward",
        "MPI_Request_fromint": "intercept",
        "MPI_Request_toint": "intercept",
        "MPI_Request_get_status_all": "refuse",
        "MPI_Request_get_status_any": "refuse",
        "MPI_Request_get_status_some": "refuse",
        "MPI_Send_c": "intercept",
        "MPI_Session_attach_buffer": "refuse_joined",
        "MPI_Session_flush_buffer": "refuse_joined",
        "MPI_Session_get_nth_pset": "intercept",
        "MPI_Session_iflush_buffer": "refuse_joined",
        "MPI_Session_init": "always",
        "MPI_Status_get_error": "forward",
        "MPI_Type_get_value_index": "forward",
        "MPIX_Comm_get_failed": "refuse",
        "MPIX_Send_enqueue": "refuse",
        "MPIX_Stream_comm_create": "refuse",
        "MPIX_Threadcomm_init": "refuse",
        "MPIX_Wait_enqueue": "refuse_joined",
        "MPIX_Waitall_enqueue": "refuse",
    }

    def test_arrays_of_requests(self):
        self.assertIn(
            "for (MPI_Count place = 0; place < incount; ++place) {\n"
            "      if (is_own_request(array_of_requests[place])) "
            'return refuse(MPI_COMM_WORLD, "MPI_Request_get_status_some");',
            self.body("MPI_Request_get_status_some"),
        )


class OpenMpi5(NewerHeader, unittest.TestCase):
    header = "openmpi_5.h.in"
    expected = {
        "MPI_Allreduce_init": "collective",
        "MPI_Comm_create_from_group": "intercept",
        "MPI_Comm_idup_with_info": "intercept",
        "MPI_Group_from_session_pset": "intercept",
        "MPI_Intercomm_create_from_groups": "intercept",
        "MPI_Isendrecv_replace": "intercept",
        "MPI_Parrived": "intercept",
        "MPI_Session_c2f": "forward",
        "MPI_Session_create_errhandler": "intercept",
        "MPI_Session_finalize": "intercept",
        "MPI_Session_get_info": "intercept",
        "MPI_Session_init": "always",
        "MPI_Session_set_errhandler": "forward",
        "MPIX_Comm_agree": "intercept",
        "MPIX_Comm_iagree": "refuse",
        "MPIX_Comm_is_revoked": "intercept",
        "MPIX_Comm_revoke": "intercept",
        "MPIX_Comm_shrink": "intercept",
        "MPIX_Query_cuda_support": "forward",
    }


if __name__ == "__main__":
    unittest.main()
