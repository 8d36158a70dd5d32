/// Attributes of communicators: what the shim keeps about them beside the vendor.
#pragma once

#include <mpi.h>

#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace impishim::shim {

struct Job;

/// The user's attributes on MPI_COMM_SELF, in the order in which they were set. MPI_Finalize deletes them before anything else
/// (MPI-3.1 8.7.1), which must happen while the joined world still works: the vendor would do it when that is gone.
class SelfAttributes {
 public:
  void set(int keyval);
  void deleted(int keyval);
  /// The one set last, no longer kept here; or nothing.
  [[nodiscard]] std::optional<int> take_last();

 private:
  std::mutex mutex_;
  std::vector<int> keyvals_;
};

/// Places for the values of predefined attributes, which a program reads through an int* at any later time.
class AttributeValues {
 public:
  /// An int that holds `value`; valid as long as this object.
  [[nodiscard]] int* of(int value);

 private:
  std::mutex mutex_;
  std::map<int, int> values_;
};

/// Deletes the user's attributes on MPI_COMM_SELF, last set first, with their callbacks. Returns the first error of the
/// vendor's, after which the remaining ones are still deleted.
int delete_self_attributes(Job& job);

/// Looks up what the joined job says about a predefined key of this communicator in the vendor's place: `value`, or nothing,
/// then the vendor's holds. Returns an MPI code that has been raised.
[[nodiscard]] int joined_attribute(Job& job, MPI_Comm comm, int keyval, std::optional<int>& value);
/// Returns MPI_SUCCESS, or the code that was raised: attributes of `comm` cannot be changed now.
[[nodiscard]] int check_attribute_change(const Job& job, MPI_Comm comm, const char* function);
/// Notes that the program has set an attribute.
void attribute_was_set(Job& job, MPI_Comm comm, int keyval);

/// Open MPI before 5.0 numbers the keys of IMPI 2.5 (impishim.h) without making them, so that the first keys of a program would
/// get the same numbers: makes them, before the program can. Nothing to do with other vendors.
void reserve_impi_keys();

}  // namespace impishim::shim
