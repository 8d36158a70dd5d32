// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/plan/launcher.hpp"
#include <fmt/format.h>
#include <stdlib.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>
#include "wire/base/result.hpp"
#include "wire/launch/plan/key_file.hpp"

namespace impishim::launch {

namespace {

/// The variables that tell processes how to encrypt, and that contain nothing secret.
constexpr std::array kEncryptionVariables{"IMPISHIM_SECRET_FILE", "IMPISHIM_TLS",
                                          "IMPISHIM_CERTIFICATE", "IMPISHIM_PRIVATE_KEY",
                                          "IMPISHIM_AUTHORITY",   "IMPISHIM_SERVER_NAME"};

}  // namespace

LauncherKind launcher_kind(const std::string& path) {
  std::error_code error;
  const auto name = std::filesystem::canonical(path, error).filename();
  if (name == "mpiexec.hydra") return LauncherKind::kHydra;
  if (name == "orterun" || name == "prterun") return LauncherKind::kOpenMpi;
  if (name == "srun") return LauncherKind::kSlurm;
  return LauncherKind::kOther;
}

std::vector<std::string> extra_options(LauncherKind kind) {
  if (kind == LauncherKind::kHydra) return {"-print-all-exitcodes"};
  std::vector<std::string> words;
  if (kind != LauncherKind::kOpenMpi) return words;
  const auto pass_on = [&](const char* name) {
    if (secure_getenv(name) != nullptr) words.insert(words.end(), {"-x", name});
  };
  pass_on("IMPI_AUTH_KEY");
  pass_on("IMPISHIM_SECRET");
  for (const char* name : kEncryptionVariables) pass_on(name);
  return words;
}

Result<std::vector<std::string>> key_words(LauncherKind kind, KeyFiles& key_files) {
  std::vector<std::string> words;
  if (kind != LauncherKind::kOther) return words;
  for (const char* name : kEncryptionVariables) {
    if (const char* value = secure_getenv(name); value != nullptr)
      words.push_back(fmt::format("{}={}", name, value));
  }
  if (secure_getenv("IMPISHIM_SECRET") != nullptr &&
      secure_getenv("IMPISHIM_SECRET_FILE") == nullptr) {
    auto path = key_files.secret.path();
    if (!path) return path.error();
    words.push_back("IMPISHIM_SECRET_FILE=" + path->string());
  }
  if (secure_getenv("IMPI_AUTH_KEY") == nullptr) return words;
  auto path = key_files.key.path();
  if (!path) return path.error();
  words.push_back("IMPI_AUTH_KEY_FILE=" + path->string());
  return words;
}

}  // namespace impishim::launch
