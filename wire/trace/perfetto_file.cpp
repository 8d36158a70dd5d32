// SPDX-License-Identifier: Apache-2.0
#include "wire/trace/perfetto_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <protozero/types.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wire/base/hash.hpp"
#include "wire/base/result.hpp"
#include "wire/trace/nesting.hpp"
#include "wire/trace/trace.hpp"
#include "wire/trace/trace_event.hpp"

namespace impishim::wire {
namespace {

// The fields of Perfetto's messages that are written here, by the names and numbers of
// protos/perfetto/trace in its sources.
enum class TraceField : protozero::pbf_tag_type { kPacket = 1 };
enum class PacketField : protozero::pbf_tag_type {
  kTimestamp = 8,
  kTrustedPacketSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kTrackDescriptor = 60
};
enum class TrackField : protozero::pbf_tag_type {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kParentUuid = 5
};
enum class ProcessField : protozero::pbf_tag_type {
  kPid = 1,
  kLegacySortIndex = 3,
  kProcessName = 6,
  kProcessLabels = 8
};
enum class EventField : protozero::pbf_tag_type {
  kCategoryIids = 3,
  kDebugAnnotations = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kFlowIds = 47,
  kTerminatingFlowIds = 48
};
enum class AnnotationField : protozero::pbf_tag_type {
  kNameIid = 1,
  kUintValue = 3,
  kIntValue = 4,
  kStringValue = 6
};
enum class InternedField : protozero::pbf_tag_type {
  kEventCategories = 1,
  kEventNames = 2,
  kDebugAnnotationNames = 3
};
enum class InternedText : protozero::pbf_tag_type { kIid = 1, kName = 2 };

enum EventType : std::int32_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3 };

template <class Field>
using Builder = protozero::pbf_builder<Field>;

constexpr std::uint32_t kStateCleared = 1;
constexpr std::uint32_t kNeedsState = 2;

std::string_view category_of(TraceKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"call",  "wait",  "packet", "packet",
                                                      "relay", "stall", "stall"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// Texts that are written once, and then named by a number.
class Interned {
 public:
  explicit Interned(InternedField field) : field_(field) {}

  /// Returns the number of a text. Adds the text to `added` if it is new.
  std::uint64_t number(std::string_view text, std::string& added) {
    if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
    const std::uint64_t number = numbers_.size() + 1;
    numbers_.emplace(text, number);
    Builder<InternedField> data(added);
    Builder<InternedText> entry(data, field_);
    entry.add_uint64(InternedText::kIid, number);
    entry.add_string(InternedText::kName, text.data(), text.size());
    return number;
  }

 private:
  InternedField field_;
  std::map<std::string, std::uint64_t, std::less<>> numbers_;
};

/// Writes the packets of one process.
class PerfettoWriter {
 public:
  PerfettoWriter(const TracedProcess& process, const TraceContent& content, const TraceNames& names)
      : process_(process), content_(content), names_(names), track_(track_of(process)) {}

  void describe_process();
  void describe_thread(std::uint16_t thread);
  void write(const TraceStep& step);
  /// Tells, at the time of the oldest event, that there were older ones.
  void tell_lost(const TraceEvent& oldest);
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  /// Gives what has been written to `sink`, and forgets it.
  [[nodiscard]] Result<void> pass_on(const TraceSink& sink) {
    auto taken = sink(text_);
    text_.clear();
    return taken;
  }

 private:
  /// A packet's event, and the texts that are new with it.
  struct EventPacket {
    std::string event;
    std::string interned;
  };

  [[nodiscard]] static std::uint64_t track_of(const TracedProcess& process) {
    Fnv1a hash;
    hash.add(fnv1a(process.job));
    hash.add(static_cast<std::uint64_t>(process.rank));
    return hash.value();
  }
  [[nodiscard]] std::uint64_t track_of(std::uint16_t thread) const { return track_ + 1 + thread; }
  void add_track(const std::string& descriptor);
  void add_packet(std::int64_t at_ns, const EventPacket& packet);
  void add_details(const TraceEvent& event, Builder<EventField>& out, std::string& interned);
  void annotate(Builder<EventField>& out, std::string& interned, std::string_view name,
                std::uint64_t value);
  void annotate(Builder<EventField>& out, std::string& interned, std::string_view name,
                const std::string& value);
  [[nodiscard]] std::string_view name_of(const TraceEvent& event) const;
  [[nodiscard]] const std::string& name_of_communicator(std::uint64_t id);

  const TracedProcess& process_;
  const TraceContent& content_;
  const TraceNames& names_;
  const std::uint64_t track_;
  std::string text_;
  bool started_ = false;
  std::unordered_map<std::uint64_t, std::string> communicators_;
  Interned categories_{InternedField::kEventCategories};
  Interned event_names_{InternedField::kEventNames};
  Interned annotation_names_{InternedField::kDebugAnnotationNames};
};

void PerfettoWriter::add_track(const std::string& descriptor) {
  Builder<TraceField> trace(text_);
  Builder<PacketField> packet(trace, TraceField::kPacket);
  packet.add_uint32(PacketField::kTrustedPacketSequenceId,
                    static_cast<std::uint32_t>(process_.rank) + 1);
  packet.add_message(PacketField::kTrackDescriptor, descriptor);
}

void PerfettoWriter::describe_process() {
  std::string descriptor;
  Builder<TrackField> track(descriptor);
  track.add_uint64(TrackField::kUuid, track_);
  {
    Builder<ProcessField> process(track, TrackField::kProcess);
    // Process ids of several nodes can be the same, and Perfetto takes these for one process.
    process.add_int32(ProcessField::kPid, process_.rank + 1);
    process.add_int32(ProcessField::kLegacySortIndex, process_.rank);
    process.add_string(ProcessField::kProcessName,
                       fmt::format("rank {}, system {}", process_.rank, process_.system));
    process.add_string(ProcessField::kProcessLabels,
                       fmt::format("process {} on {}", process_.pid, process_.host));
    process.add_string(ProcessField::kProcessLabels,
                       content_.clock.is_known()
                           ? fmt::format("clock right to {} ns", content_.clock.error_ns())
                           : std::string("clock of its own"));
  }
  add_track(descriptor);
}

void PerfettoWriter::describe_thread(std::uint16_t thread) {
  std::string descriptor;
  Builder<TrackField> track(descriptor);
  track.add_uint64(TrackField::kUuid, track_of(thread));
  track.add_uint64(TrackField::kParentUuid, track_);
  track.add_string(TrackField::kName,
                   fmt::format("thread {}: {}", thread + 1, content_.threads[thread]));
  add_track(descriptor);
}

void PerfettoWriter::add_packet(std::int64_t at_ns, const EventPacket& event) {
  Builder<TraceField> trace(text_);
  Builder<PacketField> packet(trace, TraceField::kPacket);
  packet.add_uint64(PacketField::kTimestamp, static_cast<std::uint64_t>(content_.clock.at(at_ns)));
  packet.add_uint32(PacketField::kTrustedPacketSequenceId,
                    static_cast<std::uint32_t>(process_.rank) + 1);
  packet.add_message(PacketField::kTrackEvent, event.event);
  if (!event.interned.empty()) packet.add_message(PacketField::kInternedData, event.interned);
  packet.add_uint32(PacketField::kSequenceFlags,
                    std::exchange(started_, true) ? kNeedsState : kStateCleared | kNeedsState);
}

std::string_view PerfettoWriter::name_of(const TraceEvent& event) const {
  switch (event.kind) {
    case TraceKind::kWait:
      return "wait for other systems";
    case TraceKind::kFlowControlStall:
      return "stall: the receiver has to acknowledge";
    case TraceKind::kRelayStall:
      return "stall: a relay has to pass on";
    default:
      return names_.name(event);
  }
}

void PerfettoWriter::annotate(Builder<EventField>& out, std::string& interned,
                              std::string_view name, std::uint64_t value) {
  Builder<AnnotationField> annotation(out, EventField::kDebugAnnotations);
  annotation.add_uint64(AnnotationField::kNameIid, annotation_names_.number(name, interned));
  annotation.add_uint64(AnnotationField::kUintValue, value);
}

void PerfettoWriter::annotate(Builder<EventField>& out, std::string& interned,
                              std::string_view name, const std::string& value) {
  Builder<AnnotationField> annotation(out, EventField::kDebugAnnotations);
  annotation.add_uint64(AnnotationField::kNameIid, annotation_names_.number(name, interned));
  annotation.add_string(AnnotationField::kStringValue, value);
}

/// Returns the name of a communicator, which is looked for once.
const std::string& PerfettoWriter::name_of_communicator(std::uint64_t id) {
  const auto known = communicators_.find(id);
  return known != communicators_.end()
             ? known->second
             : communicators_.emplace(id, names_.communicator(id)).first->second;
}

/// Adds what the event concerns.
void PerfettoWriter::add_details(const TraceEvent& event, Builder<EventField>& out,
                                 std::string& interned) {
  if (event.peer >= 0) annotate(out, interned, "rank", static_cast<std::uint64_t>(event.peer));
  if (event.tag >= 0) annotate(out, interned, "tag", static_cast<std::uint64_t>(event.tag));
  if (event.bytes > 0) annotate(out, interned, "bytes", event.bytes);
  if (event.communicator != 0)
    annotate(out, interned, "communicator", name_of_communicator(event.communicator));
  if (event.number != 0) annotate(out, interned, "collective", event.number);
  if (event.flow == 0) return;
  out.add_fixed64(
      event.kind == TraceKind::kReceived ? EventField::kTerminatingFlowIds : EventField::kFlowIds,
      event.flow);
}

void PerfettoWriter::write(const TraceStep& step) {
  constexpr std::array<std::int32_t, 3> kTypes = {kSliceBegin, kSliceEnd, kInstant};
  const TraceEvent& event = *step.event;
  EventPacket packet;
  Builder<EventField> out(packet.event);
  out.add_enum(EventField::kType, kTypes[static_cast<std::size_t>(step.kind)]);
  out.add_uint64(EventField::kTrackUuid, track_of(event.thread));
  if (step.kind != TraceStep::Kind::kEnd) {
    out.add_uint64(EventField::kCategoryIids,
                   categories_.number(category_of(event.kind), packet.interned));
    out.add_uint64(EventField::kNameIid, event_names_.number(name_of(event), packet.interned));
    add_details(event, out, packet.interned);
  }
  add_packet(step.at_ns, packet);
}

void PerfettoWriter::tell_lost(const TraceEvent& oldest) {
  EventPacket packet;
  Builder<EventField> out(packet.event);
  out.add_enum(EventField::kType, kInstant);
  out.add_uint64(EventField::kTrackUuid, track_);
  out.add_uint64(
      EventField::kNameIid,
      event_names_.number("older events are lost: raise IMPISHIM_TRACE_SIZE", packet.interned));
  annotate(out, packet.interned, "events", content_.lost);
  add_packet(oldest.begin_ns, packet);
}

std::vector<std::vector<const TraceEvent*>> by_thread(const TraceContent& content) {
  std::vector<std::vector<const TraceEvent*>> threads(content.threads.size());
  for (const TraceEvent& each : content.events) threads[each.thread].push_back(&each);
  return threads;
}

}  // namespace

Result<void> perfetto_is_there() { return {}; }

Result<void> write_perfetto(const TracedProcess& process, const TraceContent& content,
                            const TraceNames& names, const TraceSink& sink) {
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  PerfettoWriter writer(process, content, names);
  Result<void> outcome;
  writer.describe_process();
  if (content.lost > 0) writer.tell_lost(content.events.front());
  auto threads = by_thread(content);
  for (std::size_t i = 0; i < threads.size() && outcome; ++i) {
    if (threads[i].empty()) continue;
    writer.describe_thread(static_cast<std::uint16_t>(i));
    walk_nested(threads[i], [&](const TraceStep& step) {
      if (!outcome) return;
      writer.write(step);
      if (writer.size() >= kPiece) outcome = writer.pass_on(sink);
    });
  }
  return outcome ? writer.pass_on(sink) : outcome;
}

}  // namespace impishim::wire
