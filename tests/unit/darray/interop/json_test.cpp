// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/dap/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/darray/interop/pieces.hpp"

namespace impishim::darray::dap {
namespace {

using test::block;
using test::cyclic;
using test::labels;
using test::text_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Json, DictionariesHoldTheProtocolsKeys) {
  EXPECT_EQ(
      to_json(std::vector{block(18, 2, 0, 0, 10, Padding{1, 1}, true)}),
      R"([{"dist_type":"b","padding":[1,1],"periodic":true,"proc_grid_rank":0,"proc_grid_size":2,"size":18,"start":0,"stop":10}])");
  EXPECT_EQ(to_json(std::vector<DimData>{{}}), "[{}]");
  EXPECT_EQ(to_json(std::vector<DimData>{}), "[]");
}

TEST(Json, RoundTrip) {
  const std::vector<DimData> dimensions{block(18, 2, 0, 0, 10, Padding{1, 1}, false),
                                        cyclic(9, 3, 2, 2),
                                        cyclic(9, 3, 1),
                                        labels(6, 2, 0, {-1, 4, 100}, true),
                                        {},
                                        labels(0, 1, 0, {})};
  const auto reading = read(dictionaries_from_json(to_json(dimensions)), Level::kStrict);
  EXPECT_THAT(reading.violations, IsEmpty()) << text_of(reading.violations);
  EXPECT_EQ(reading.dimensions, dimensions);
}

// DAP-28
TEST(Json, UnknownKeysComeBackOut) {
  const std::string text =
      R"([{"note":{"deep":[1,2.5,null,"x",false]},"dist_type":"c","size":4,"proc_grid_size":1,"proc_grid_rank":0,"start":0}])";
  const auto kept = read(dictionaries_from_json(text), Level::kLenient).dimensions;
  EXPECT_THAT(to_json(kept), HasSubstr(R"("note":{"deep":[1,2.5,null,"x",false]})"));
  EXPECT_EQ(read(dictionaries_from_json(to_json(kept)), Level::kLenient).dimensions, kept);
}

TEST(Json, WrongKindsAreViolationsAndWrongFormsAreErrors) {
  const auto check = [](const std::string& text) {
    return text_of(validate(dictionaries_from_json(text), std::vector<Index>{4}, Level::kStrict));
  };
  EXPECT_THAT(
      check(
          R"([{"dist_type":"b","size":4,"proc_grid_size":1,"proc_grid_rank":0,"start":0,"stop":4}])"),
      IsEmpty());
  EXPECT_THAT(
      check(
          R"([{"dist_type":"b","size":4.0,"proc_grid_size":1,"proc_grid_rank":0,"start":0,"stop":4}])"),
      HasSubstr("DAP-27"));
  EXPECT_THAT(
      check(
          R"([{"dist_type":"b","size":9223372036854775808,"proc_grid_size":1,"proc_grid_rank":0,"start":0,"stop":4}])"),
      HasSubstr("beyond 64 bits"));
  EXPECT_THAT(
      check(
          R"([{"dist_type":"u","size":4,"proc_grid_size":1,"proc_grid_rank":0,"indices":[1,2,3,4.5]}])"),
      HasSubstr("DAP-60"));
  EXPECT_THAT(
      check(
          R"([{"dist_type":"u","size":4,"proc_grid_size":1,"proc_grid_rank":0,"indices":[1,2,3,true]}])"),
      HasSubstr("DAP-60"));
  EXPECT_THAT(
      check(
          R"([{"dist_type":"u","size":4,"proc_grid_size":1,"proc_grid_rank":0,"indices":[1,2,-3,4]}])"),
      IsEmpty());
  for (const char* text : {"", "{", "[1]", "{}", "3", "[{}", "null", "[{\"a\":}]", "[\"\xff\"]"})
    EXPECT_THROW(dictionaries_from_json(text), Error) << text;
  EXPECT_THROW(dictionaries_from_json(std::string(100000, '[')), Error);
}

TEST(Json, ExportsAndTheArrayInterfaceRoundTrip) {
  std::vector<double> memory(20);
  Export exported;
  exported.buffer = buffer_of(StridedView<const double>(memory.data() + 19, {10}, {-2}));
  exported.dim_data = {block(18, 2, 0, 0, 10, Padding{1, 1})};
  EXPECT_EQ(accept(export_from_json(to_json(exported)), Level::kStrict), exported);
  EXPECT_EQ(buffer_from_array_interface(array_interface(exported.buffer)), exported.buffer);
  EXPECT_THAT(array_interface(exported.buffer),
              HasSubstr(R"("shape":[10],"strides":[-16],"typestr":"<f8","version":3)"));
  const Buffer plain = buffer_from_array_interface(
      R"({"version":3,"typestr":"<i4","shape":[2,3],"data":[64,false]})");
  EXPECT_EQ(plain.strides, (std::vector<Index>{12, 4}));
}

TEST(Json, WrongExportsAndInterfaces) {
  EXPECT_THAT(text_of(validate(export_from_json("{}"), Level::kLenient)),
              ::testing::AllOf(HasSubstr("'__version__': DAP-01"), HasSubstr("'buffer': DAP-01"),
                               HasSubstr("'dim_data': DAP-01")));
  EXPECT_THAT(text_of(validate(export_from_json(R"({"dim_data":[3],"extra":1})"), Level::kLenient)),
              ::testing::AllOf(HasSubstr("'dim_data': DAP-05"), HasSubstr("'extra': DAP-01")));
  EXPECT_THROW(export_from_json("[]"), Error);
  for (
      const char* text :
      {"[]", "{}", R"({"version":2,"typestr":"<i4","shape":[2],"data":[64,false]})",
       R"({"version":3,"typestr":"O","shape":[2],"data":[64,false]})",
       R"({"version":3,"shape":[2],"data":[64,false]})",
       R"({"version":3,"typestr":"<i4","shape":[-2],"data":[64,false]})",
       R"({"version":3,"typestr":"<i4","shape":2,"data":[64,false]})",
       R"({"version":3,"typestr":"<i4","shape":[2],"strides":[4,4],"data":[64,false]})",
       R"({"version":3,"typestr":"<i4","shape":[2],"data":[64]})",
       R"({"version":3,"typestr":"<i4","shape":[2],"data":[-64,false]})",
       R"({"version":3,"typestr":"<i4","shape":[4611686018427387904,4611686018427387904],"data":[64,false]})"})
    EXPECT_THROW(buffer_from_array_interface(text), Error) << text;
}

}  // namespace
}  // namespace impishim::darray::dap
