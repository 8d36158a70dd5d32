// SPDX-License-Identifier: Apache-2.0
/// The forms of impirun: what main() runs for a command line. Each returns the exit status, and has
/// reported an error.
#pragma once

#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/command_line.hpp"

namespace impishim::launch {

/// Prints an error to standard error and returns `status`.
int complain(const Error& error, int status);

/// Prints to standard output. A write may fail, for example if a disk is full. Returns an exit
/// status.
int print(const std::string& text);

int run_server(const CommandLine& line);
int run_name_server(const CommandLine& line);
int run_client(const CommandLine& line);
/// Runs a system that the impirun of another machine has begun (see remote_start.hpp).
int run_remote();
int run_local(const CommandLine& line);
int run_job_file(const CommandLine& line);
/// Runs a check, of one system or of those of a job file. `words` begin with check::kCheckOption.
int run_check(const std::vector<std::string>& words);

int print_new_key();
int print_new_secret();

}  // namespace impishim::launch
