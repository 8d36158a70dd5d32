# SPDX-License-Identifier: Apache-2.0
"""What impirun says to input that cannot be right: one clear line on standard error, a non-zero
exit, nothing started."""

import pathlib
import shutil
import socket
import tempfile

from support import ARGUMENTS, Case, Run, impirun, main

WITH_KEY = {"IMPI_AUTH_KEY": "1234"}
USAGE, FAILURE = 2, 1


class BadInput(Case):
    def refuses(self, *words, says, status=USAGE, environment=None):
        with impirun(*words, **(WITH_KEY if environment is None else environment)) as run:
            self.expect(run, status)
            self.assertEqual(run.lines["out"], [], run)
            self.assertEqual(len(run.lines["err"]), 1, run)
            self.assertTrue(run.err.startswith("impirun: "), run)
            self.assertIn(says, run.err)

    def test_nothing_to_do(self):
        self.refuses(says="nothing to do: neither -server, nor -client, nor -np N program")

    def test_unknown_option(self):
        self.refuses("-frobnicate", 2, "a.out", says="unknown option -frobnicate")

    def test_option_without_its_value(self):
        self.refuses("-server", says="-server needs 1 argument(s)")
        self.refuses("-client", 0, says="-client needs 2 argument(s)")

    def test_option_of_another_form(self):
        self.refuses(
            "-server",
            2,
            "-np",
            2,
            says="-np does not belong to -server: give it where the systems are started",
        )
        self.refuses(
            "-server", 2, "-client", 0, "127.0.0.1:1", says="-server and -client exclude each other"
        )
        self.refuses("-np", 2, "-auth", "1,0", ARGUMENTS.program, says="-auth belongs to -server")
        self.refuses(
            "-client",
            0,
            "127.0.0.1:1",
            "-systems",
            2,
            "-n",
            2,
            ARGUMENTS.program,
            says="-systems belongs to neither",
        )
        self.refuses("-server", 2, ARGUMENTS.program, says="-server takes no program")
        self.refuses(
            "-server",
            2,
            "-gateway",
            0,
            says="-gateway does not belong to -server: give it where the systems are started",
        )
        self.refuses(
            "-np",
            2,
            "-host-procs",
            1,
            "-gateway",
            0,
            ARGUMENTS.program,
            says="-host-procs and -gateway exclude each other",
        )
        self.refuses(
            "-np", 2, "-gateway", "", ARGUMENTS.program, says="-gateway: a list of ranks is needed"
        )

    def test_server_of_33_clients(self):
        self.refuses("-server", 33, says='-server: "33" is not a number from 1 to 32')

    def test_server_without_a_sensible_number(self):
        for number in ("0", "-1", "two", "2x", ""):
            self.refuses(
                "-server", number, says=f'-server: "{number}" is not a number from 1 to 32'
            )

    def test_auth_list_that_is_none(self):
        for text in ("1,", "9-", "x", "1;0", "", "-1", "32", "0--1"):
            self.refuses(
                "-server",
                2,
                "-auth",
                text,
                says=f"-auth {text}: a list of method numbers or ranges is needed",
            )

    def test_auth_list_without_an_enabled_method(self):
        self.refuses(
            "-server",
            2,
            "-auth",
            "3,0",
            says="no authentication method available: -auth 3,0 names none",
        )

    def test_timeout_that_is_none(self):
        for text in ("0", "soon", "-5", "1.5"):
            self.refuses(
                "-server", 2, "-timeout", text, says=f'-timeout: "{text}" is not a number from 1 to'
            )

    def test_port_that_is_none(self):
        for text in ("0", "65536", "http"):
            self.refuses(
                "-server", 2, "-port", text, says=f'-port: "{text}" is not a number from 1 to 65535'
            )

    def test_port_in_use(self):
        with socket.socket() as other:
            other.bind(("0.0.0.0", 0))
            other.listen()
            port = other.getsockname()[1]
            self.refuses(
                "-server",
                2,
                "-port",
                port,
                says=f"cannot serve on port {port}: Address already in use",
            )

    def test_own_address_of_no_single_machine(self):
        for address in ("0.0.0.0", "::", "255.255.255.255", "224.0.0.1"):
            # The time limit ends a server that takes the address.
            self.refuses(
                "-server",
                2,
                "-timeout",
                5,
                says=f"IMPISHIM_HOST_ADDRESS={address}: that is ",
                environment={**WITH_KEY, "IMPISHIM_HOST_ADDRESS": address},
            )

    def test_no_authentication_method_for_the_server(self):
        self.refuses(
            "-server",
            2,
            says="no authentication method available: set IMPI_AUTH_KEY",
            environment={},
        )

    def test_no_authentication_method_for_a_client(self):
        self.refuses(
            "-client",
            0,
            "127.0.0.1:1",
            "-np",
            1,
            ARGUMENTS.program,
            environment={},
            says="no authentication method available: set IMPI_AUTH_KEY",
        )

    def test_key_that_is_no_number(self):
        for key in ("secret", "", "18446744073709551616", "-1", "0x10"):
            self.refuses(
                "-server",
                2,
                says="IMPI_AUTH_KEY must be a decimal 64-bit number",
                environment={"IMPI_AUTH_KEY": key},
            )

    def test_client_number_that_is_none(self):
        for number in ("-1", "32", "first"):
            self.refuses(
                "-client",
                number,
                "127.0.0.1:1",
                "-np",
                1,
                ARGUMENTS.program,
                says=f"-client {number}: a client's number from 0 to 31 is needed",
            )

    def test_client_without_a_program(self):
        self.refuses("-client", 0, "127.0.0.1:1", "-np", 1, says="-client needs a program to run")
        self.refuses("-client", 0, "127.0.0.1:1", "--", says="-client needs a program to run")
        self.refuses(
            "-client",
            0,
            "127.0.0.1:1",
            ARGUMENTS.program,
            says="-client needs -np N, or -- and a launcher's command",
        )

    def test_server_address_that_is_none(self):
        for address in (
            "nowhere",
            "127.0.0.1",
            "127.0.0.1:0",
            "127.0.0.1:65536",
            ":4711",
            "::1:4711",
        ):
            self.refuses(
                "-client",
                0,
                address,
                "-np",
                1,
                ARGUMENTS.program,
                says=f'"{address}" is not of the form address:port',
            )

    def test_server_name_that_nobody_has(self):
        self.refuses(
            "-client",
            0,
            "nobody.invalid:4711",
            "-np",
            1,
            ARGUMENTS.program,
            says='"nobody.invalid" is no address and no known host name',
        )

    def test_unreachable_server(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and does not listen
            address = "127.0.0.1:{}".format(taken.getsockname()[1])
            # It is MPI_Init that says so, and the launcher adds its own words.
            with impirun(
                "-client", 0, address, "-np", 1, ARGUMENTS.program, "hello", IMPI_AUTH_NONE=""
            ) as run:
                self.expect(run, FAILURE)
                self.assertIn(
                    f"cannot reach the rendezvous server at {address}: Connection refused", run.err
                )

    def test_program_not_found(self):
        self.refuses("-np", 1, "./no_such_program", says="program not found: ./no_such_program")
        self.refuses(
            "-np",
            1,
            "no_such_program",
            says="program not found: no_such_program (it is not in PATH",
        )
        self.refuses(
            "-np",
            1,
            ARGUMENTS.program,
            ":",
            "-np",
            1,
            "no_such_program",
            says="program not found: no_such_program",
        )
        self.refuses(
            "-client",
            0,
            "127.0.0.1:1",
            "--",
            "no_such_launcher",
            "-n",
            1,
            ARGUMENTS.program,
            says="program not found: no_such_launcher",
        )

    def test_program_that_cannot_be_executed(self):
        self.refuses("-np", 1, __file__, says="is not an executable file")
        self.refuses("-np", 1, str(pathlib.Path(__file__).parent), says="is not an executable file")

    def test_program_without_mpi(self):
        self.refuses(
            "-np",
            1,
            shutil.which("true"),
            says="true is not an MPI program: it needs neither libmpich nor libmpi nor libmpi_abi",
        )
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "script.sh"
            script.write_text("#!/bin/sh\n", encoding="ascii")
            script.chmod(0o755)
            self.refuses("-np", 1, script, says="script.sh is not an MPI program")
            self.refuses("-np", 1, script, says="name the program that the script starts")

    def test_launcher_without_an_mpi_program(self):
        self.refuses(
            "-client",
            0,
            "127.0.0.1:1",
            "--",
            ARGUMENTS.mpiexec,
            "-n",
            1,
            shutil.which("true"),
            says='mpiexec.mpich ..." is an MPI program'
            if "mpich" in ARGUMENTS.mpiexec
            else "is an MPI program",
        )

    def test_mpi_without_a_built_library(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "bin" / "impirun"
            program.parent.mkdir()
            shutil.copy2(ARGUMENTS.impirun, program)
            for started, mpi in (
                (ARGUMENTS.program, "mpich"),
                (ARGUMENTS.foreign_program, "openmpi"),
            ):
                with Run(program, "-np", 1, started) as run:
                    self.expect(run, USAGE)
                    self.assertEqual(run.lines["out"], [], run)
                    self.assertEqual(len(run.lines["err"]), 1, run)
                    self.assertIn(
                        f"the program uses {mpi}, but no libimpishim.so is built for it: "
                        f"{folder}/lib/impishim/{mpi}/libimpishim.so is missing",
                        run.err,
                    )

    def test_library_that_cannot_be_read(self):
        self.refuses(
            "-np",
            1,
            ARGUMENTS.program,
            says="IMPISHIM_LIBRARY=/no/such/library.so cannot be read",
            environment={"IMPISHIM_LIBRARY": "/no/such/library.so"},
        )

    def test_launcher_that_is_not_there(self):
        self.refuses(
            "-np",
            1,
            ARGUMENTS.program,
            says="program not found: /no/such/mpiexec",
            environment={"IMPISHIM_MPIEXEC": "/no/such/mpiexec"},
        )

    def test_unknown_mpi(self):
        self.refuses(
            "-mpi",
            "lam",
            "-np",
            1,
            ARGUMENTS.program,
            says='-mpi: "lam" is not mpich, openmpi or abi',
        )

    def test_mpi_that_does_not_fit_the_program(self):
        """Of each of the two programs' libraries one is another MPI's, whose libimpishim.so would
        crash in it."""
        for mpi, other, program in (
            ("mpich", "openmpi", ARGUMENTS.foreign_program),
            ("openmpi", "mpich", ARGUMENTS.program),
        ):
            for words in (
                ("-np", 1, program),
                ("-client", 0, "127.0.0.1:1", "-np", 1, program),
                ("-client", 0, "127.0.0.1:1", "--", "env", program),
                ("-client", 0, "127.0.0.1:1", "--", program),
            ):
                self.refuses(
                    "-mpi",
                    mpi,
                    *words,
                    says=f"-mpi {mpi} does not fit {program}, which needs {other}'s library",
                )

    def test_section_without_a_space(self):
        for option in (":-np", ":-n", ":--np", ":-gateway"):
            self.refuses(
                "-np",
                1,
                ARGUMENTS.program,
                option,
                1,
                ARGUMENTS.program,
                says=f'"{option}": a space is needed between : and ',
            )

    def test_new_key_with_more(self):
        self.refuses("-new-key", 5, says="-new-key stands alone")

    def test_key_file_that_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "key"
            environment = {"IMPI_AUTH_KEY_FILE": str(path)}
            self.refuses(
                "-server",
                1,
                environment=environment,
                says=f"IMPI_AUTH_KEY_FILE={path} cannot be opened",
            )
            path.write_text("4711\n", encoding="ascii")
            path.chmod(0o640)
            self.refuses(
                "-server",
                1,
                environment=environment,
                says=f"IMPI_AUTH_KEY_FILE={path} is open to other users (mode 0640)",
            )
            path.chmod(0o600)
            path.write_text("secret\n", encoding="ascii")
            self.refuses(
                "-client",
                0,
                "127.0.0.1:1",
                "-np",
                1,
                ARGUMENTS.program,
                environment=environment,
                says="must hold one decimal 64-bit number",
            )

    def test_33_sections(self):
        words = ["-np", 1, ARGUMENTS.program]
        self.refuses(*(words + ([":"] + words) * 32), says="more than 32 systems cannot be joined")
        self.refuses(
            "-systems",
            33,
            "-n",
            40,
            ARGUMENTS.program,
            says='-systems: "33" is not a number from 1 to 32',
        )

    def test_sections_that_are_incomplete(self):
        self.refuses("-np", 1, says="a program is missing")
        self.refuses(ARGUMENTS.program, says="-np N is missing")
        self.refuses("-np", 1, ARGUMENTS.program, ":", says="-np N is missing")
        self.refuses("-np", 0, ARGUMENTS.program, says='"0" is not a number from 1 to')
        self.refuses(
            "-systems",
            3,
            "-n",
            2,
            ARGUMENTS.program,
            says="2 processes cannot be split over 3 systems",
        )


if __name__ == "__main__":
    main()
