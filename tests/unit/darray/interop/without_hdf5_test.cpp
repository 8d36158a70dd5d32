// SPDX-License-Identifier: Apache-2.0
// What a build without HDF5 says, and which names are HDF5's in any build.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "darray/interop/files/hdf5.hpp"
#include "tests/unit/darray/errors.hpp"

namespace impishim::darray::file::hdf5 {
namespace {

TEST(WithoutHdf5, RefusesAndNamesTheCure) {
  EXPECT_FALSE(is_available());
  const Place place{"array.h5", "data"};
  Header header{Scalar::kDouble, {3}};
  double data[3];
  const std::string text =
      "unsupported: array.h5: impishim was built without HDF5: build it with libhdf5-dev "
      "installed, or use a name that ends in "
      ".npy";
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { static_cast<void>(read_header(place)); }, [&] { create(place, header, true); },
           [&] {
             read(place, header, {0, 3}, data);
           }}) {
    EXPECT_EQ(impishim_test::error_of(call), text);
  }
}

TEST(PlaceOf, TellsFileAndDataset) {
  const auto is = [](const std::string& path, const std::string& file, const std::string& dataset) {
    const auto place = place_of(path);
    return place && place->file == file && place->dataset == dataset;
  };
  EXPECT_TRUE(is("run.h5", "run.h5", "data"));
  EXPECT_TRUE(is("/at:noon/run.hdf5", "/at:noon/run.hdf5", "data"));
  EXPECT_TRUE(is("run.h5:step/17", "run.h5", "step/17"));
  EXPECT_TRUE(is("run.hdf5:a:b", "run.hdf5", "a:b"));
  EXPECT_FALSE(place_of("run.npy"));
  EXPECT_FALSE(place_of("run.h5.npy"));
  EXPECT_FALSE(place_of("h5"));
  EXPECT_EQ(impishim_test::error_of([] { static_cast<void>(place_of("run.h5:")); }),
            "argument: run.h5:: no dataset's name after the colon");
}

}  // namespace
}  // namespace impishim::darray::file::hdf5
