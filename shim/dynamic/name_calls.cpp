// SPDX-License-Identifier: Apache-2.0
// MPI_Publish_name, MPI_Lookup_name, MPI_Unpublish_name (MPI-3.1 10.4.4).
#include <fmt/format.h>
#include <mpi.h>
#include <stdlib.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/job.hpp"
#include "wire/base/result.hpp"
#include "wire/port/name_service.hpp"
#include "wire/port/name_table.hpp"
#include "wire/port/port_name.hpp"

namespace impishim::shim {
namespace {

using wire::NameRequestKind;
using wire::NameStatus;

/// Raises an error of a function without a communicator, as both vendors do.
int raise_on_world(int error_class, std::string_view function, std::string_view text) {
  return raise(MPI_COMM_WORLD, error_class, function, text);
}

/// Asks the name server. Returns MPI_SUCCESS with an answer, or a code that has been raised.
int ask(std::string_view function, const wire::NameRequest& request, wire::NameAnswer& answer) {
  const char* const text = secure_getenv(wire::kNameServerVariable);
  if (text == nullptr) {
    return raise_on_world(
        MPI_ERR_INTERN, function,
        "no name server is known: start `impirun -name-server`, and give all jobs the "
        "IMPISHIM_NAME_SERVER that it prints");
  }
  const auto server = wire::PortName::parse(text);
  if (!server) {
    return raise_on_world(MPI_ERR_INTERN, function,
                          "IMPISHIM_NAME_SERVER is not what `impirun -name-server` prints");
  }
  auto answered = wire::ask_name_server(*server, request);
  if (!answered) {
    return raise_on_world(
        MPI_ERR_INTERN, function,
        fmt::format("the name server does not answer: {}", answered.error().text));
  }
  answer = std::move(*answered);
  return MPI_SUCCESS;
}

int refused(std::string_view function, const char* service) {
  return raise_on_world(
      MPI_ERR_SERVICE, function,
      fmt::format("the name server does not take \"{}\": the name or the port is too "
                  "long, or too many names are published",
                  service));
}

}  // namespace

namespace calls {

int Publish_name(Job& /*job*/, const char* service_name, MPI_Info /*info*/, const char* port_name) {
  constexpr const char* kFunction = "MPI_Publish_name";
  wire::NameAnswer answer;
  const int code = ask(kFunction, {NameRequestKind::kPublish, service_name, port_name}, answer);
  if (code != MPI_SUCCESS || answer.status == NameStatus::kDone) return code;
  if (answer.status != NameStatus::kTaken) return refused(kFunction, service_name);
  return raise_on_world(
      MPI_ERR_SERVICE, kFunction,
      fmt::format("a port is published as \"{}\" already: unpublish it first, or take "
                  "another name",
                  service_name));
}

int Lookup_name(Job& /*job*/, const char* service_name, MPI_Info /*info*/, char* port_name) {
  wire::NameAnswer answer;
  const int code = ask("MPI_Lookup_name", {NameRequestKind::kLookUp, service_name, {}}, answer);
  if (code != MPI_SUCCESS) return code;
  if (answer.status == NameStatus::kDone && answer.port.size() < MPI_MAX_PORT_NAME) {
    std::memcpy(port_name, answer.port.c_str(), answer.port.size() + 1);
    return MPI_SUCCESS;
  }
  return raise_on_world(MPI_ERR_NAME, "MPI_Lookup_name",
                        fmt::format("no port is published as \"{}\"", service_name));
}

int Unpublish_name(Job& /*job*/, const char* service_name, MPI_Info /*info*/,
                   const char* port_name) {
  wire::NameAnswer answer;
  const int code =
      ask("MPI_Unpublish_name", {NameRequestKind::kUnpublish, service_name, port_name}, answer);
  if (code != MPI_SUCCESS || answer.status == NameStatus::kDone) return code;
  return raise_on_world(MPI_ERR_SERVICE, "MPI_Unpublish_name",
                        fmt::format("this port is not published as \"{}\"", service_name));
}

}  // namespace calls
}  // namespace impishim::shim
