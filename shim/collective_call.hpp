/// What the collective calls on a spanning communicator have in common: checks of arguments, and running a task to its end.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "collectives/collectives.hpp"
#include "shim/job.hpp"
#include "shim/leader_group.hpp"
#include "shim/native_group.hpp"

namespace impishim::shim {

/// One blocking call. An argument that fails its check is raised through the communicator's error handler; the code is then the
/// call's result, and the later checks do nothing.
class CollectiveCall {
 public:
  CollectiveCall(Job& job, Communicator& communicator, std::string_view function);
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;

  /// MPI_ERR_ROOT, MPI_ERR_OP.
  void check_root(int root);
  void check_op(MPI_Op op);
  /// MPI_ERR_BUFFER: MPI_IN_PLACE where it is not allowed, or one buffer given twice.
  void check_not_in_place(const void* buffer);
  void check_not_aliased(const void* send, const void* receive, std::int64_t count);

  /// Describes data; MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_BUFFER (null with a count). Valid while `type` is.
  [[nodiscard]] collectives::Data data(const void* address, std::int64_t count, MPI_Datatype datatype,
                                       collectives::ElementType& type);

  [[nodiscard]] bool ok() const { return code_ == MPI_SUCCESS; }
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const collectives::Team& team() const { return team_; }
  [[nodiscard]] std::int32_t rank() const { return shape_.rank; }

  /// Drives `task` to its end; returns the call's result. `operation_code`: an error met in a reduction's operation, read then.
  [[nodiscard]] int run(collectives::Task task, const int* operation_code = nullptr);

 private:
  void fail(int error_class, std::string_view text);

  Job& job_;
  Communicator& communicator_;
  std::string_view function_;
  int code_ = MPI_SUCCESS;
  collectives::Shape shape_;
  collectives::Limits limits_;
  NativeGroup local_;
  EngineLeaders leaders_;
  collectives::Team team_;
};

}  // namespace impishim::shim
