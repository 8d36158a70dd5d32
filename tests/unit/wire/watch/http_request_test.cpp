// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/http_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace impishim::wire {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

int status_of(const std::string& text) {
  const auto request = parse_http_request(text);
  return request ? request->status : 0;
}

TEST(HttpRequest, TakesWhatPrometheusSends) {
  const auto request = parse_http_request(
      "GET /metrics?a=b HTTP/1.1\r\nHost: localhost:9400\r\nAccept: text/plain;q=0.5,*/*\r\n"
      "X-Empty:\r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->status, 200);
  EXPECT_EQ(request->path, "/metrics");
  EXPECT_FALSE(request->head_only);
}

TEST(HttpRequest, WaitsForTheEndOfTheHead) {
  const std::string whole = "HEAD / HTTP/1.0\r\n\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_http_request(whole.substr(0, size))) << size;
  EXPECT_TRUE(parse_http_request(whole)->head_only);
}

TEST(HttpRequest, RefusesWhatIsNoHttp) {
  for (const std::string first :
       {"GET  / HTTP/1.1", "GET /", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET http://a/ HTTP/1.1",
        "G(T / HTTP/1.1", "GET /\x01 HTTP/1.1", "GET / ICY/1.1", "", "GET /\xc3\xa9 HTTP/1.1"})
    EXPECT_EQ(status_of(first + "\r\nHost: a\r\n\r\n"), 400) << first;
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\n\r\n"), 405);
}

TEST(HttpRequest, RefusesWrongFields) {
  for (const std::string field :
       {"Host : a", " Host: a", "Host", ": a", "Host: a\r\n b", "Host: a\x01", "Host: a\nX: b",
        "Host: a\r\nHost: b", "X: y", "Host: a\rb", "H\xc3\xb6st: a\r\nHost: a"})
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + field + "\r\n\r\n"), 400) << field;
}

TEST(HttpRequest, RefusesABody) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\ncontent-length: 5\r\n\r\nhello"), 413);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"), 200);
}

TEST(HttpRequest, RefusesAHeadWithoutEnd) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  EXPECT_EQ(status_of(head + std::string(kMaxRequestHead, 'x')), 431);
  EXPECT_EQ(status_of(head + std::string(kMaxRequestHead, 'x') + "\r\n\r\n"), 431);
}

TEST(HttpAnswer, HasItsLengthAndEnds) {
  const std::string answer = http_answer(200, "text/plain", "body\n", false);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 5\r\nConnection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nbody\n"));
  EXPECT_THAT(http_answer(200, "text/plain", "body\n", true), EndsWith("close\r\n\r\n"));
  EXPECT_THAT(http_answer(405, "text/plain", "", false), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
}

}  // namespace
}  // namespace impishim::wire
