// SPDX-License-Identifier: Apache-2.0
#include "wire/trace/perfetto_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/trace/clock_line.hpp"
#include "wire/trace/trace.hpp"
#include "wire/trace/trace_event.hpp"

namespace impishim::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// An event as Perfetto would show it.
struct ReadEvent {
  std::uint64_t at = 0;
  int type = 0;
  std::uint64_t track = 0;
  std::string name;
  std::string category;
  std::map<std::string, std::string> annotations;
  std::vector<std::uint64_t> flows;
  std::vector<std::uint64_t> ending_flows;
};

/// A file, read by the numbers of Perfetto's published fields.
class ReadFile {
 public:
  explicit ReadFile(const std::string& text) {
    protozero::pbf_reader trace(text);
    while (trace.next(1)) read_packet(trace.get_message());
  }

  std::map<std::uint64_t, std::string> track_names;
  std::map<std::uint64_t, std::uint64_t> parents;
  std::vector<std::string> labels;
  std::vector<ReadEvent> events;
  std::set<std::uint32_t> sequences;
  std::vector<std::uint32_t> flags;

 private:
  using Texts = std::map<std::uint64_t, std::string>;

  void read_packet(protozero::pbf_reader packet) {
    std::uint64_t at = 0;
    std::string event;
    while (packet.next()) {
      switch (packet.tag()) {
        case 8:
          at = packet.get_uint64();
          break;
        case 10:
          sequences.insert(packet.get_uint32());
          break;
        case 11:
          event = packet.get_string();
          break;
        case 12:
          read_interned(packet.get_message());
          break;
        case 13:
          flags.push_back(packet.get_uint32());
          break;
        case 60:
          read_track(packet.get_message());
          break;
        default:
          ADD_FAILURE() << "field " << packet.tag();
          packet.skip();
      }
    }
    if (!event.empty()) read_event(at, event);
  }

  void read_interned(protozero::pbf_reader data) {
    while (data.next()) {
      Texts& texts = interned_[data.tag()];
      protozero::pbf_reader entry = data.get_message();
      std::uint64_t number = 0;
      while (entry.next()) {
        if (entry.tag() == 1) number = entry.get_uint64();
        if (entry.tag() == 2) texts[number] = entry.get_string();
      }
    }
  }

  void read_track(protozero::pbf_reader track) {
    std::uint64_t uuid = 0;
    while (track.next()) {
      switch (track.tag()) {
        case 1:
          uuid = track.get_uint64();
          break;
        case 2:
          track_names[uuid] = track.get_string();
          break;
        case 3:
          read_process(uuid, track.get_message());
          break;
        default:
          ASSERT_EQ(track.tag(), 5U);
          parents[uuid] = track.get_uint64();
      }
    }
  }

  void read_process(std::uint64_t uuid, protozero::pbf_reader process) {
    while (process.next()) {
      if (process.tag() == 6) {
        track_names[uuid] = process.get_string();
      } else if (process.tag() == 8) {
        labels.push_back(process.get_string());
      } else {
        process.skip();
      }
    }
  }

  void read_event(std::uint64_t at, const std::string& text) {
    ReadEvent& read = events.emplace_back();
    read.at = at;
    protozero::pbf_reader event(text);
    while (event.next()) {
      switch (event.tag()) {
        case 3:
          read.category = interned_[1].at(event.get_uint64());
          break;
        case 4:
          read_annotation(read, event.get_message());
          break;
        case 9:
          read.type = event.get_enum();
          break;
        case 10:
          read.name = interned_[2].at(event.get_uint64());
          break;
        case 11:
          read.track = event.get_uint64();
          break;
        case 47:
          read.flows.push_back(event.get_fixed64());
          break;
        default:
          ASSERT_EQ(event.tag(), 48U);
          read.ending_flows.push_back(event.get_fixed64());
      }
    }
  }

  void read_annotation(ReadEvent& read, protozero::pbf_reader annotation) {
    std::string name;
    while (annotation.next()) {
      if (annotation.tag() == 1) {
        name = interned_[3].at(annotation.get_uint64());
      } else if (annotation.tag() == 3) {
        read.annotations[name] = fmt::format("{}", annotation.get_uint64());
      } else {
        ASSERT_EQ(annotation.tag(), 6U);
        read.annotations[name] = annotation.get_string();
      }
    }
  }

  std::map<std::uint32_t, Texts> interned_;
};

constexpr int kBegin = 1;
constexpr int kEnd = 2;
constexpr int kInstant = 3;

const TracedProcess kProcess{"job", 3, 1, 4711, "node7"};

TraceNames names() {
  return {[](const TraceEvent& event) {
            return event.kind == TraceKind::kCall ? std::string_view("MPI_Send")
                                                  : std::string_view("DATA");
          },
          [](std::uint64_t id) { return fmt::format("group {}", id); }};
}

std::string text_of(const TraceContent& content, const TracedProcess& process = kProcess) {
  std::string text;
  const auto written = write_perfetto(process, content, names(), [&](std::string_view piece) {
    text += piece;
    return Result<void>();
  });
  EXPECT_TRUE(written);
  return text;
}

TraceContent content_of(std::vector<TraceEvent> events) {
  TraceContent content;
  content.events = std::move(events);
  content.threads = {"program"};
  return content;
}

TraceEvent event_of(TraceKind kind, std::int64_t begin, std::int64_t end) {
  TraceEvent event;
  event.kind = kind;
  event.begin_ns = begin;
  event.end_ns = end;
  return event;
}

TEST(Perfetto, AProcessAndItsThread) {
  const ReadFile file(text_of(content_of({event_of(TraceKind::kCall, 10, 20)})));
  ASSERT_EQ(file.track_names.size(), 2U);
  ASSERT_EQ(file.parents.size(), 1U);
  const auto [thread, process] = *file.parents.begin();
  EXPECT_EQ(file.track_names.at(process), "rank 3, system 1");
  EXPECT_EQ(file.track_names.at(thread), "thread 1: program");
  EXPECT_THAT(file.labels, ElementsAre("process 4711 on node7", "clock of its own"));
  EXPECT_THAT(file.sequences, ElementsAre(4U));
}

TEST(Perfetto, ACallHasItsPeer) {
  TraceEvent call = event_of(TraceKind::kCall, 10, 20);
  call.peer = 5;
  call.tag = 0;
  call.bytes = 800;
  call.communicator = 77;
  const ReadFile file(text_of(content_of({call})));
  ASSERT_EQ(file.events.size(), 2U);
  EXPECT_EQ(file.events[0].type, kBegin);
  EXPECT_EQ(file.events[0].at, 10U);
  EXPECT_EQ(file.events[0].name, "MPI_Send");
  EXPECT_EQ(file.events[0].category, "call");
  EXPECT_EQ(file.events[0].annotations,
            (std::map<std::string, std::string>{
                {"rank", "5"}, {"tag", "0"}, {"bytes", "800"}, {"communicator", "group 77"}}));
  EXPECT_EQ(file.events[1].type, kEnd);
  EXPECT_EQ(file.events[1].at, 20U);
  EXPECT_EQ(file.events[1].track, file.events[0].track);
}

TEST(Perfetto, AFlowEndsWhereAPacketArrives) {
  std::vector<TraceEvent> events = {event_of(TraceKind::kSent, 10, 10),
                                    event_of(TraceKind::kRelayed, 20, 20),
                                    event_of(TraceKind::kReceived, 30, 30)};
  for (TraceEvent& each : events) each.flow = 99;
  const ReadFile file(text_of(content_of(events)));
  ASSERT_EQ(file.events.size(), 3U);
  for (const ReadEvent& each : file.events) EXPECT_EQ(each.type, kInstant);
  EXPECT_THAT(file.events[0].flows, ElementsAre(99U));
  EXPECT_THAT(file.events[1].flows, ElementsAre(99U));
  EXPECT_EQ(file.events[1].category, "relay");
  EXPECT_TRUE(file.events[2].flows.empty());
  EXPECT_THAT(file.events[2].ending_flows, ElementsAre(99U));
}

TEST(Perfetto, EveryKindHasAName) {
  std::vector<TraceEvent> events;
  for (const TraceKind kind :
       {TraceKind::kCall, TraceKind::kWait, TraceKind::kSent, TraceKind::kReceived,
        TraceKind::kRelayed, TraceKind::kFlowControlStall, TraceKind::kRelayStall})
    events.push_back(event_of(kind, 10, 10));
  const ReadFile file(text_of(content_of(events)));
  std::set<std::string> names;
  for (const ReadEvent& each : file.events) {
    if (each.type != kEnd) names.insert(each.name);
  }
  EXPECT_EQ(names.size(), 5U);  // the packets have the same one here
}

TEST(Perfetto, TimesAreThoseOfTheFirstProcess) {
  TraceContent content = content_of({event_of(TraceKind::kCall, 1000, 2000)});
  content.clock.add({0, 500, 30});
  const ReadFile file(text_of(content));
  EXPECT_EQ(file.events.at(0).at, 1500U);
  EXPECT_EQ(file.events.at(1).at, 2500U);
  EXPECT_THAT(file.labels, testing::Contains("clock right to 30 ns"));
}

TEST(Perfetto, LostEventsAreTold) {
  TraceContent content = content_of({event_of(TraceKind::kCall, 1000, 2000)});
  content.lost = 12;
  const ReadFile file(text_of(content));
  ASSERT_EQ(file.events.size(), 3U);
  EXPECT_THAT(file.events[0].name, HasSubstr("IMPISHIM_TRACE_SIZE"));
  EXPECT_EQ(file.events[0].annotations.at("events"), "12");
}

TEST(Perfetto, TextsAreWrittenOnceAndStateBeginsWithTheFirstEvent) {
  std::vector<TraceEvent> events;
  for (std::int64_t i = 0; i < 1000; ++i)
    events.push_back(event_of(TraceKind::kCall, 10 * i, 10 * i + 5));
  const std::string text = text_of(content_of(events));
  std::size_t found = 0;
  for (std::size_t at = text.find("MPI_Send"); at != std::string::npos;
       at = text.find("MPI_Send", at + 1))
    ++found;
  EXPECT_EQ(found, 1U);
  const ReadFile file(text);
  ASSERT_EQ(file.events.size(), 2000U);
  EXPECT_EQ(file.flags.at(0), 3U);
  EXPECT_EQ(file.flags.at(1), 2U);
  EXPECT_EQ(file.events.back().at, 9995U);
}

TEST(Perfetto, FilesOfAllProcessesAreOneTrace) {
  TracedProcess other = kProcess;
  other.rank = 0;
  const TraceContent content = content_of({event_of(TraceKind::kCall, 10, 20)});
  const ReadFile both(text_of(content) + text_of(content, other));
  EXPECT_EQ(both.events.size(), 4U);
  EXPECT_EQ(both.track_names.size(), 4U);
  EXPECT_THAT(both.sequences, ElementsAre(1U, 4U));
}

TEST(Perfetto, PiecesAreBounded) {
  std::vector<TraceEvent> events(100000, event_of(TraceKind::kSent, 10, 10));
  std::size_t largest = 0;
  std::size_t pieces = 0;
  const auto written =
      write_perfetto(kProcess, content_of(events), names(), [&](std::string_view piece) {
        largest = std::max(largest, piece.size());
        ++pieces;
        return Result<void>();
      });
  EXPECT_TRUE(written);
  EXPECT_GT(pieces, 2U);
  EXPECT_LT(largest, (std::size_t{1} << 20U) + 1000);
}

TEST(Perfetto, AnErrorOfTheSinkEndsIt) {
  std::vector<TraceEvent> events(200000, event_of(TraceKind::kSent, 10, 10));
  std::size_t pieces = 0;
  const auto written =
      write_perfetto(kProcess, content_of(events), names(), [&](std::string_view) -> Result<void> {
        ++pieces;
        return Error{ErrorKind::kSystem, "No space left on device"};
      });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().text, "No space left on device");
  EXPECT_EQ(pieces, 1U);
}

}  // namespace
}  // namespace impishim::wire
