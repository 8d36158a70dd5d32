// SPDX-License-Identifier: Apache-2.0
// Text of other origin on a terminal.
#include "wire/base/printable.hpp"

#include <gtest/gtest.h>

namespace impishim {
namespace {

TEST(Printable, PlainTextStaysAsItIs) {
  for (const char* text : {"", "system 1 was lost", "a\\b \"c\" ~", "Größe 5 µs, 東京, 🙂"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("\x1b[2Jgone\r\nimpishim: all is well\a"),
            "\\x1b[2Jgone\\r\\nimpishim: all is well\\x07");
  EXPECT_EQ(printable(std::string_view("a\0\t\x7f", 4)), "a\\x00\\t\\x7f");
}

TEST(Printable, UnicodeControlsAreEscaped) {
  EXPECT_EQ(printable("\xc2\x85"), "\\u0085");  // next line
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\u009b2J");  // control sequence introducer
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "x"),
            "\\u202ex");  // right-to-left override
  EXPECT_EQ(printable("\xe2\x80\xa8\xef\xbb\xbf"), "\\u2028\\ufeff");
  EXPECT_EQ(printable("\xc2\xa0\xe2\x80\xa6"),
            "\xc2\xa0\xe2\x80\xa6");  // a space and an ellipsis are none
}

TEST(Printable, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(printable("\xff\x9b"), "\\xff\\x9b");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");           // a long form of the end of a line
  EXPECT_EQ(printable("\xe0\x82\x85"), "\\xe0\\x82\\x85");  // a long form of U+0085
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe2\x80"
                      "a"),
            "\\xe2\\x80"
            "a");
}

TEST(Printable, LongTextIsCut) {
  EXPECT_EQ(printable(std::string(2000, 'x')), std::string(1024, 'x') + " ...");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("abcd", 3), "abc ...");
}

}  // namespace
}  // namespace impishim
