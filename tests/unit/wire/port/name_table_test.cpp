// SPDX-License-Identifier: Apache-2.0
// The names that a name server keeps, and the server itself.
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <future>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/channel/address.hpp"
#include "wire/port/name_service.hpp"
#include "wire/port/name_table.hpp"
#include "wire/port/open_port.hpp"

namespace impishim::wire {
namespace {

using Kind = NameRequestKind;

TEST(NameTable, KeepsWhatIsPublished) {
  NameTable table;
  EXPECT_EQ(table.handle({Kind::kLookUp, "a", {}}).status, NameStatus::kUnknown);
  EXPECT_EQ(table.handle({Kind::kPublish, "a", "port 1"}).status, NameStatus::kDone);
  EXPECT_EQ(table.handle({Kind::kPublish, "a", "port 2"}).status, NameStatus::kTaken);
  const NameAnswer found = table.handle({Kind::kLookUp, "a", {}});
  EXPECT_EQ(found.status, NameStatus::kDone);
  EXPECT_EQ(found.port, "port 1");
  EXPECT_EQ(table.handle({Kind::kUnpublish, "a", "port 2"}).status, NameStatus::kTaken);
  EXPECT_EQ(table.handle({Kind::kUnpublish, "a", "port 1"}).status, NameStatus::kDone);
  EXPECT_EQ(table.handle({Kind::kUnpublish, "a", "port 1"}).status, NameStatus::kUnknown);
}

TEST(NameTable, IsBounded) {
  NameTable table;
  const std::string too_long(NameTable::kLongestText + 1, 'x');
  EXPECT_EQ(table.handle({Kind::kPublish, too_long, "p"}).status, NameStatus::kRefused);
  EXPECT_EQ(table.handle({Kind::kPublish, "s", too_long}).status, NameStatus::kRefused);
  for (std::size_t i = 0; i < NameTable::kMostNames; ++i) {
    ASSERT_EQ(table.handle({Kind::kPublish, std::to_string(i), "p"}).status, NameStatus::kDone);
  }
  EXPECT_EQ(table.handle({Kind::kPublish, "one more", "p"}).status, NameStatus::kRefused);
  EXPECT_EQ(table.handle({Kind::kLookUp, "7", {}}).status, NameStatus::kDone);
}

/// A server in a thread of its own, until the object ends.
class RunningServer {
 public:
  RunningServer()
      : port_(OpenPort::open(parse_address("127.0.0.1").value()).value()),
        end_(eventfd(0, EFD_CLOEXEC)),
        served_(std::async(std::launch::async, [&] { return serve_names(*port_, end_.get()); })) {}
  ~RunningServer() {
    eventfd_write(end_.get(), 1);
    EXPECT_TRUE(served_.get().ok());
  }
  [[nodiscard]] const PortName& name() const { return port_->name(); }

 private:
  std::unique_ptr<OpenPort> port_;
  Descriptor end_;
  std::future<Result<void>> served_;
};

TEST(NameServer, AnswersItsClients) {
  const RunningServer server;
  const auto ask = [&](const NameRequest& request) {
    return ask_name_server(server.name(), request).value();
  };
  EXPECT_EQ(ask({Kind::kPublish, "weather", "a port"}).status, NameStatus::kDone);
  const NameAnswer found = ask({Kind::kLookUp, "weather", {}});
  EXPECT_EQ(found.status, NameStatus::kDone);
  EXPECT_EQ(found.port, "a port");
  EXPECT_EQ(ask({Kind::kLookUp, "tides", {}}).status, NameStatus::kUnknown);
}

TEST(NameServer, GoesOnAfterAClientThatSendsNonsense) {
  const RunningServer server;
  {
    auto rude = connect_to_port(server.name());
    ASSERT_TRUE(rude.ok());
    ASSERT_TRUE(rude->conversation.send(std::vector<std::byte>(5, std::byte{0xff})).ok());
    EXPECT_FALSE(rude->conversation.receive().ok());
  }
  { ASSERT_TRUE(connect_to_port(server.name()).ok()); }  // leaves without a word
  EXPECT_EQ(ask_name_server(server.name(), {Kind::kLookUp, "x", {}})->status, NameStatus::kUnknown);
}

TEST(NameServer, TellsNothingWithoutTheSecret) {
  const RunningServer server;
  PortName guessed = server.name();
  guessed.secret = JobSecret::random().value();
  EXPECT_FALSE(ask_name_server(guessed, {Kind::kLookUp, "x", {}}).ok());
}

}  // namespace
}  // namespace impishim::wire
