// SPDX-License-Identifier: Apache-2.0
// Drives a fuzz target without libFuzzer: every file of the corpus as it is, then seeded mutations
// of them.
//   <target> [--runs N] [--seed S] FOLDER_OR_FILE...
// An input that breaks the target is written to crash-<seed>-<run> in the current folder; give that
// file to run it again.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kLongestInput = 4096;

Bytes current;                      // NOLINT: what the handler of a crash writes
std::array<char, 64> crash_file{};  // NOLINT

void write_crash(int signal_number) {
  FILE* file = std::fopen(crash_file.data(), "wb");
  if (file != nullptr) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
    std::fprintf(stderr, "the input is in %s\n", crash_file.data());
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

std::vector<Bytes> read_corpus(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) files.emplace_back(path);
    if (!fs::is_directory(path)) continue;
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const fs::path& each : files) {
    std::ifstream file(each, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, const std::vector<Bytes>& corpus) : random_(seed), corpus_(corpus) {}

  Bytes next() {
    Bytes input = any();
    for (std::size_t i = 0, count = 1 + below(6); i < count; ++i) mutate(input);
    if (input.size() > kLongestInput) input.resize(kLongestInput);
    return input;
  }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  const Bytes& any() { return corpus_[below(corpus_.size())]; }
  static Bytes::iterator at(Bytes& input, std::size_t index) {
    return input.begin() + static_cast<std::ptrdiff_t>(index);
  }

  void mutate(Bytes& input) {
    const std::size_t where = below(input.size());
    switch (below(7)) {
      case 0:
        if (!input.empty()) input[where] ^= static_cast<std::uint8_t>(1U << below(8));
        return;
      case 1:
        if (!input.empty()) input[where] = static_cast<std::uint8_t>(random_());
        return;
      case 2:
        store_number(input, where);
        return;
      case 3:
        input.erase(at(input, where), at(input, std::min(input.size(), where + 1 + below(16))));
        return;
      case 4:
        input.insert(at(input, where), 1 + below(16), static_cast<std::uint8_t>(random_()));
        return;
      case 5:
        copy_within(input, where);
        return;
      default:
        splice(input, where);
    }
  }

  /// A big-endian number from the borders of what numbers can be.
  void store_number(Bytes& input, std::size_t where) {
    static constexpr std::array<std::uint32_t, 16> kNumbers = {
        0,      1,      2,       3,          4,          31,         32,         33,
        0x7FFF, 0x8000, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 0x1000001};
    const std::uint32_t number = kNumbers.at(below(kNumbers.size()));
    for (std::size_t i = 0; i < 4 && where + i < input.size(); ++i) {
      input[where + i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
    }
  }

  void copy_within(Bytes& input, std::size_t where) {
    const Bytes part(at(input, where), at(input, std::min(input.size(), where + 1 + below(64))));
    input.insert(at(input, below(input.size() + 1)), part.begin(), part.end());
  }

  /// The beginning of this input and the end of another one.
  void splice(Bytes& input, std::size_t where) {
    const Bytes& other = any();
    input.resize(where);
    input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(below(other.size())),
                 other.end());
  }

  std::mt19937_64 random_;
  const std::vector<Bytes>& corpus_;
};

void run(const Bytes& input, const std::string& name) {
  current = input;
  std::strncpy(crash_file.data(), name.c_str(), crash_file.size() - 1);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

}  // namespace

int main(int argc, char** argv) {
  unsigned long runs = 0;
  std::uint64_t seed = 1;
  std::vector<std::string> paths;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--runs" && i + 1 < words.size()) {
      runs = std::stoul(words[++i]);
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      seed = std::stoull(words[++i]);
    } else {
      paths.push_back(words[i]);
    }
  }
  for (const int each : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) signal(each, write_crash);
  const std::vector<Bytes> corpus = read_corpus(paths);
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus\n");
    return 2;
  }
  for (std::size_t i = 0; i < corpus.size(); ++i)
    run(corpus[i], "crash-corpus-" + std::to_string(i));
  Mutator mutator(seed, corpus);
  for (unsigned long i = 0; i < runs; ++i) {
    run(mutator.next(), "crash-" + std::to_string(seed) + "-" + std::to_string(i));
  }
  std::printf("%zu inputs and %lu mutations of them, seed %llu\n", corpus.size(), runs,
              static_cast<unsigned long long>(seed));
  return 0;
}
