// SPDX-License-Identifier: Apache-2.0
#include "wire/base/secret.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
/// An OpenSSL of the program's own, as older ones are linked statically into some libraries.
[[gnu::visibility("default")]] void* EVP_MD_fetch(void*, const char*, const char*) { std::abort(); }
}
#endif

namespace impishim {
namespace {

static_assert(!fmt::is_formattable<JobSecret>::value, "a secret cannot get into a message");

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string hex(const Result<Digest>& digest) {
  EXPECT_TRUE(digest.ok()) << digest.error().text;
  std::string text;
  for (const std::byte each : *digest) text += fmt::format("{:02x}", std::to_integer<int>(each));
  return text;
}

TEST(Secret, LoadsNoLibraryUntilItIsNeeded) {
  // The first test of this program.
  EXPECT_EQ(dlopen("libcrypto.so.3", RTLD_NOW | RTLD_NOLOAD), nullptr);
}

// FIPS 180-4's examples.
TEST(Secret, Sha256IsTheStandards) {
  EXPECT_EQ(hex(sha256(bytes_of("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// RFC 4231, cases 1, 2 and 6 (a key longer than a block).
TEST(Secret, HmacIsTheStandards) {
  EXPECT_EQ(hex(hmac_sha256(std::vector<std::byte>(20, std::byte{0x0b}), bytes_of("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::vector<std::byte>(131, std::byte{0xaa}),
                            bytes_of("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Secret, RandomOnesDiffer) {
  std::set<std::vector<std::byte>> seen;
  for (int i = 0; i < 100; ++i) {
    auto secret = JobSecret::random();
    ASSERT_TRUE(secret.ok());
    seen.emplace(secret->bytes().begin(), secret->bytes().end());
  }
  EXPECT_EQ(seen.size(), 100U);
}

TEST(Secret, IsWipedWhenDestroyed) {
  std::array<std::byte, JobSecret::kSize> ones;
  ones.fill(std::byte{1});
  alignas(JobSecret) std::array<std::byte, sizeof(JobSecret)> memory;
  auto* secret = new (memory.data()) JobSecret(ones);
  EXPECT_TRUE(std::ranges::equal(secret->bytes(), ones));
  std::destroy_at(secret);
  EXPECT_EQ(std::ranges::count(memory, std::byte{1}), 0);
}

TEST(Secret, ComparesEveryByte) {
  const auto a = bytes_of("authentication");
  EXPECT_TRUE(equal_in_constant_time(a, a));
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto b = a;
    b[i] ^= std::byte{0x80};
    EXPECT_FALSE(equal_in_constant_time(a, b)) << i;
  }
  EXPECT_FALSE(equal_in_constant_time(a, std::span(a).first(3)));
}

}  // namespace
}  // namespace impishim
