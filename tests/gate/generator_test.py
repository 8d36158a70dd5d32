# SPDX-License-Identifier: Apache-2.0
"""scripts/gen_wrappers.py on a small mpi.h of our own: what it reads, decides and writes."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

GENERATOR = pathlib.Path(sys.argv.pop(1))
OBSERVED_CALL = pathlib.Path(__file__).resolve().parent / "headers/observed_call.hpp.in"

HEADER = """
typedef int MPI_Comm; typedef int MPI_Request; typedef int MPI_Message; typedef int MPI_Win; typedef int MPI_Group;
typedef struct { int a; } MPI_Status;
typedef int (MPI_Function)(MPI_Comm, int);
#define MPI_Comm_c2f(comm) (comm)
TWIN(int, Init, (int *argc, char ***argv))
TWIN(int, Finalize, (void))
TWIN(int, Send, (const void *buf, int count, int type, int dest, int tag, MPI_Comm comm) __attribute__((pointer_with_type_tag(MPI,1,3))))
TWIN(int, Isend, (const void *buf, int count, int type, int dest, int tag, MPI_Comm comm, MPI_Request *request))
TWIN(int, Wait, (MPI_Request *request, MPI_Status *status))
TWIN(int, Barrier, (MPI_Comm comm))
TWIN(int, Ibarrier, (MPI_Comm comm, MPI_Request *request))
TWIN(int, Comm_dup, (MPI_Comm comm, MPI_Comm *newcomm))
TWIN(int, Comm_idup, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request))
TWIN(int, Comm_spawn, (const char *command, int root, MPI_Comm comm, MPI_Comm *intercomm, int codes[]))
TWIN(int, Intercomm_create, (MPI_Comm local_comm, int leader, MPI_Comm peer_comm, MPI_Comm *newcomm))
TWIN(int, Parrived, (MPI_Request request, int partition, int *flag))
TWIN(int, Mrecv_c, (void *buf, MPI_Message *message, MPI_Status *status))
TWIN(int, Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status))
TWIN(int, Group_range_incl, (int n, int ranges[][3]))
TWIN(int, Pcontrol, (const int level, ...))
TWIN(double, Wtime, (void))
TWIN(int, Unnamed, (int, const char *, void *, MPI_Comm *))
TWIN(int, Win_start, (MPI_Group group, int assertion, MPI_Win win))
TWIN(int, Win_fence, (int assertion, MPI_Win win))
TWIN(int, Comm_create_keyval, (MPI_Function *copy, int (*remove)(MPI_Comm, int), int *keyval))
TWIN(int, T_init_thread, (int required, int *provided))
extern int MPIX_Extension(MPI_Comm comm); extern int PMPIX_Extension(MPI_Comm comm);
int MPI_Only_here(MPI_Comm comm);
int PMPI_Only_there(MPI_Comm comm);
"""
MACRO = "#define TWIN(result, name, parameters) result MPI_##name parameters; result PMPI_##name parameters;\n"
FATES = """
# comment
MPI_Init always
MPI_Send intercept
MPI_Wait intercept_fast
MPI_Isend intercept_start
MPI_Win_fence forward no spanning window exists
MPI_Comm_spawn refuse_joined started processes belong to no system
MPI_Elsewhere intercept
"""


def load():
    """The module that reads prototypes."""
    spec = importlib.util.spec_from_file_location(
        "mpi_functions", GENERATOR.parent / "lib/mpi_functions.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Generator(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = pathlib.Path(self.directory.name)

    def run_generator(self, header=MACRO + HEADER, fates=FATES):
        (self.path / "mpi.h").write_text(header)
        (self.path / "functions.txt").write_text(fates)
        return subprocess.run(
            [
                sys.executable,
                GENERATOR,
                "--include",
                self.path,
                "--functions",
                self.path / "functions.txt",
                "--output",
                self.path / "out",
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    def generate(self, fates=FATES):
        done = self.run_generator(fates=fates)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [
            line.split("\t") for line in (self.path / "out/wrapped.txt").read_text().splitlines()
        ]
        return {row[0]: row[1] for row in rows}

    def text(self, *patterns):
        return "".join(
            file.read_text()
            for pattern in patterns
            for file in sorted((self.path / "out").glob(pattern))
        )

    def body(self, function):
        """The wrapper of `function`, up to its closing brace, behind what it does in a joined job
        where that is a function of its own."""
        wrappers, text = self.text("wrappers_*.cpp"), ""
        for name in (f" joined_{function.removeprefix('MPI_')}(", f" {function}("):
            if (start := wrappers.find(name)) >= 0:
                text += wrappers[start : wrappers.index("\n}\n", start)]
        return text

    def test_fates(self):
        self.assertEqual(
            self.generate(),
            {
                "MPIX_Extension": "refuse",
                "MPI_Barrier": "refuse",
                "MPI_Comm_create_keyval": "forward",
                "MPI_Comm_dup": "refuse",
                "MPI_Comm_idup": "refuse",
                "MPI_Comm_spawn": "refuse_joined",
                "MPI_Finalize": "forward",
                "MPI_Group_range_incl": "forward",
                "MPI_Ibarrier": "refuse",
                "MPI_Init": "always",
                "MPI_Intercomm_create": "refuse",
                "MPI_Mprobe": "refuse",
                "MPI_Mrecv_c": "refuse",
                "MPI_Parrived": "refuse",
                "MPI_Pcontrol": "forward",
                "MPI_Send": "intercept",
                "MPI_Isend": "intercept_start",
                "MPI_T_init_thread": "forward",
                "MPI_Unnamed": "forward",
                "MPI_Wait": "intercept_fast",
                "MPI_Win_fence": "forward",
                "MPI_Win_start": "refuse",
                "MPI_Wtime": "forward",
            },
        )

    def test_every_input_is_checked(self):
        self.generate()
        both = self.body("MPI_Intercomm_create")
        self.assertIn(
            'if (spanning(job, local_comm) != nullptr) { *newcomm = MPI_COMM_NULL; return refuse(local_comm, "MPI_Intercomm_create"); }',
            both,
        )
        self.assertIn(
            'if (spanning(job, peer_comm) != nullptr) { *newcomm = MPI_COMM_NULL; return refuse(peer_comm, "MPI_Intercomm_create"); }',
            both,
        )
        self.assertNotIn("spanning(job, newcomm)", both)
        self.assertIn("if (is_own_request(request)) return refuse", self.body("MPI_Parrived"))
        self.assertIn("if (is_own_message(*message)) return refuse", self.body("MPI_Mrecv_c"))
        self.assertIn(
            'if (is_own_group(group)) return refuse_group("MPI_Win_start");',
            self.body("MPI_Win_start"),
        )
        self.assertNotIn("is_own_message", self.body("MPI_Mprobe"))
        self.assertIn(
            '*intercomm = MPI_COMM_NULL; return refuse_joined("MPI_Comm_spawn", "started processes belong to no system");',
            self.body("MPI_Comm_spawn"),
        )

    def test_a_failed_call_leaves_no_handle(self):
        self.generate(fates=FATES + "MPI_Intercomm_create intercept\n")
        self.assertIn(
            "{ *request = MPI_REQUEST_NULL; return refuse(comm", self.body("MPI_Ibarrier")
        )
        self.assertIn(
            "if (spanning(job, local_comm) != nullptr || spanning(job, peer_comm) != nullptr) { *newcomm = MPI_COMM_NULL; }\n"
            "    return calls::Intercomm_create(*job",
            self.body("MPI_Intercomm_create"),
        )

    def test_blocking_collectives_poll(self):
        self.generate()
        native = self.text("shim/native.hpp")
        self.assertIn("vendor::Ibarrier(comm, &request)", native)
        # Duplications stay blocking: MPICH 4.0.2's MPI_Comm_idup need not end while other threads
        # make communicators.
        self.assertNotIn("vendor::Comm_idup(comm, newcomm, &request)", native)
        self.assertIn("return native::Barrier(*job, comm);", self.body("MPI_Barrier"))
        self.assertIn("return vendor::Ibarrier(comm, request);", self.body("MPI_Ibarrier"))

    def test_calls_that_block_inside_the_system_are_marked(self):
        self.generate()
        native = self.text("shim/native.hpp")
        self.assertIn('static constexpr VendorCallKind kCall{"MPI_Win_fence", false};', native)
        self.assertIn('static constexpr VendorCallKind kCall{"MPI_Comm_dup", false};', native)
        self.assertNotIn('"MPI_Ibarrier"', native)
        self.assertIn("return native::Win_fence(*job, ", self.body("MPI_Win_fence"))

    def test_both_names_and_both_paths(self):
        self.generate()
        wrappers = self.text("wrappers_*.cpp")
        self.assertIn(
            'alias("MPI_Send"))) int PMPI_Send(const void * buf, int count, int type, int dest, int tag, MPI_Comm comm);',
            wrappers.replace("void *buf", "void * buf"),
        )
        send = self.body("MPI_Send")
        self.assertIn("calls::Send(*job, buf, count, type, dest, tag, comm)", send)
        self.assertIn("vendor::raw::Send(buf, count, type, dest, tag, comm)", send)
        self.assertIn("return calls::Init(argc, argv);", self.body("MPI_Init"))
        self.assertNotIn("called_by_user()", self.body("MPI_Init"))
        self.assertIn("called_by_user()", send)
        self.assertIn(
            "int Send(Job& job, const void * buf",
            self.text("shim/entry_points.hpp").replace("void *buf", "void * buf"),
        )
        self.assertIn("#define IMPISHIM_HAVE_MPI_Send 1", self.text("shim/entry_points.hpp"))
        self.assertNotIn("Elsewhere", self.text("shim/*.hpp", "*.cpp"))

    def test_fast_wrappers_hold_the_fast_path(self):
        self.generate()
        wait = self.body("MPI_Wait")
        self.assertIn("if (job == nullptr) return vendor::raw::Wait(request, status);", wait)
        self.assertIn(
            "if (vendor_depth.value() == 0) [[likely]] { if (calls_are_observed()) [[unlikely]] "
            "return observed_Wait(job, request, status); return fast_path::Wait(*job, request, status); }",
            wait,
        )
        self.assertIn(
            "return in_fortran_layer(caller_inside_vendor) ? calls::Wait(request, status) : vendor::raw::Wait(request, status);",
            self.body("inside_vendor_Wait"),
        )
        self.assertRegex(
            self.text("shim/entry_points.hpp"),
            r"int Wait\(MPI_Request ?\* ?request, MPI_Status ?\* ?status\);",
        )

    def test_what_only_starts_a_message_does_not_look_for_the_job(self):
        self.generate()
        isend = self.body("MPI_Isend")
        self.assertNotIn("the_job", isend)
        self.assertIn(
            "if (vendor_depth.value() == 0) [[likely]] { if (calls_are_observed()) [[unlikely]] "
            "return observed_Isend(buf, count, type, dest, tag, comm, request); "
            "return fast_path::Isend(buf, count, type, dest, tag, comm, request); }",
            isend,
        )
        self.assertIn(
            "vendor::raw::Isend(buf, count, type, dest, tag, comm, request);",
            self.body("inside_vendor_Isend"),
        )
        self.assertRegex(self.text("shim/entry_points.hpp"), r"int Isend\(const void ?\* ?buf")

    def test_unusual_declarations(self):
        self.generate()
        wrappers = self.text("wrappers_*.cpp")
        self.assertIn("MPI_Pcontrol(const int level, ...) {", wrappers)
        self.assertIn("double MPI_Wtime(void) {", wrappers)
        self.assertIn("int ranges[][3]) {", wrappers)
        self.assertIn("raw::Unnamed(argument0, argument1, argument2, argument3)", wrappers)
        self.assertIn("#undef MPI_Barrier\n#undef PMPI_Barrier\n", wrappers)
        self.assertNotIn("Only_", wrappers)

    def test_output_compiles(self):
        """The headers that it needs, reduced to what it needs of them."""
        self.generate()
        out = self.path / "out"
        for folder in ("coll", "completion", "entry", "error", "handle", "io", "job", "monitor"):
            (out / "shim" / folder).mkdir(parents=True, exist_ok=True)
        (out / "shim/job/job.hpp").write_text(
            "#pragma once\n#include <atomic>\nnamespace impishim::shim { struct Job { bool polls_collectives; };\n"
            "extern std::atomic<Job*> the_job; void* spanning(const Job*, int); }\n"
        )
        (out / "shim/handle/inside_vendor.hpp").write_text(
            "#pragma once\nnamespace impishim::shim { struct VendorDepth { int value() const; }; extern VendorDepth vendor_depth;\n"
            "struct InsideVendor { InsideVendor(); ~InsideVendor(); }; }\n"
        )
        (out / "shim/completion/wait.hpp").write_text(
            '#pragma once\n#include "shim/job/job.hpp"\nnamespace impishim::shim { int poll_native(Job&, int); }\n'
        )
        (out / "shim/entry/call_origin.hpp").write_text(
            "namespace impishim::shim { struct Job; Job* called_by_user(); extern const void* caller_inside_vendor;\n"
            "bool in_fortran_layer(const void*); }\n"
        )
        (out / "shim/entry/fast_path.hpp").write_text(
            '#include <mpi.h>\n#include "shim/job/job.hpp"\n'
            "namespace impishim::shim::fast_path { int Wait(const Job&, MPI_Request*, MPI_Status*);\n"
            "int Isend(const void*, int, int, int, int, MPI_Comm, MPI_Request*); }\n"
        )
        (out / "shim/error/refusal.hpp").write_text(
            "namespace impishim::shim { int refuse(int comm, const char* function); int refuse_group(const char* function);\n"
            "int refuse_joined(const char* function, const char* reason); }\n"
        )
        (out / "shim/handle/own_handle.hpp").write_text(
            "namespace impishim::shim { bool is_own_request(int); bool is_own_message(int); bool is_own_group(int); }\n"
        )
        shutil.copy(OBSERVED_CALL, out / "shim/monitor/observed_call.hpp")
        for header in (
            "collective_arguments",
            "collective_queue",
        ):  # of which no function of this mpi.h makes use
            (out / f"shim/coll/{header}.hpp").write_text("")
        for header in ("file", "file_access"):
            (out / f"shim/io/{header}.hpp").write_text("")
        (out / "shim/completion/native_stand.hpp").write_text(
            "#pragma once\nnamespace impishim::shim { struct Job; struct VendorCallKind { const char* function; bool collective; };\n"
            "struct NativeStand { NativeStand(Job&, const VendorCallKind&); ~NativeStand(); }; }\n"
        )
        (out / "shim/entry/vendor_lookup.hpp").write_text(
            "namespace impishim::shim { void* resolve(const char* name); }\n"
        )
        header = (self.path / "mpi.h").read_text()
        (out / "mpi.h").write_text(
            '#pragma once\nextern "C" {\n#define MPI_REQUEST_NULL 0\n#define MPI_SUCCESS 0\n'
            "#define MPI_COMM_WORLD 1\n#define MPI_COMM_NULL 0\n" + header + "}\n"
        )
        for source in sorted(out.glob("*.cpp")):
            done = subprocess.run(
                ["c++", "-std=c++20", "-fsyntax-only", f"-I{out}", source],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr[:2000])

    def test_bad_input(self):
        done = self.run_generator(header="int MPI_Init(int*, char***);\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("is this an mpi.h?", done.stderr)
        done = self.run_generator(fates="MPI_Send forward\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("functions.txt:1", done.stderr)
        done = self.run_generator(fates="MPI_Send handled\n")
        self.assertNotEqual(done.returncode, 0)


class Parameters(unittest.TestCase):
    def test_split(self):
        module = load()
        self.assertEqual(
            module.split_parameters("int a, int (*f)(int, int), char b[]"),
            ["int a", "int (*f)(int, int)", "char b[]"],
        )

    def test_names_and_kinds(self):
        module = load()
        parameter = module.Parameter("const int array_of_counts[]", 0)
        self.assertEqual(
            (parameter.type, parameter.name, parameter.suffix),
            ("const int", "array_of_counts", "[]"),
        )
        self.assertTrue(module.Parameter("MPI_Comm comm", 0).is_value("MPI_Comm"))
        self.assertFalse(module.Parameter("MPI_Comm *comm", 0).is_value("MPI_Comm"))
        self.assertFalse(module.Parameter("MPI_Request requests[]", 0).is_value("MPI_Request"))


if __name__ == "__main__":
    unittest.main()
