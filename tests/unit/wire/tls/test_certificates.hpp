// SPDX-License-Identifier: Apache-2.0
/// Certificates for tests, made by tests/support/make_certificates.sh and the openssl command.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "wire/base/result.hpp"
#include "wire/tls/certificate_files.hpp"
#include "wire/tls/tls_certificates.hpp"

namespace impishim::wire::test {

/// Returns the folder of the certificates, which this process makes once, and removes at its end.
inline const std::filesystem::path& certificate_folder() {
  struct Folder {
    std::filesystem::path path;
    Folder() {
      std::string name = testing::TempDir() + "certificates.XXXXXX";
      if (mkdtemp(name.data()) == nullptr) return;
      path = name;
      const std::string command = std::string("sh ") + IMPISHIM_MAKE_CERTIFICATES + " " + name;
      EXPECT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(cert-env33-c)
    }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  return folder.path;
}

/// Returns the files of `name`, which trusts `authority`.
inline CertificateFiles certificate_files(const std::string& name,
                                          const std::string& authority = "authority") {
  const std::filesystem::path& folder = certificate_folder();
  return {.certificate = folder / (name + ".pem"),
          .key = folder / (name + ".key"),
          .authority = folder / (authority + ".pem"),
          .server_name = {}};
}

inline std::shared_ptr<const TlsCertificates> certificates(
    const std::string& name, const std::string& authority = "authority") {
  auto loaded = TlsCertificates::load(certificate_files(name, authority));
  EXPECT_TRUE(loaded.ok()) << loaded.error().text;
  return loaded ? *loaded : nullptr;
}

}  // namespace impishim::wire::test
