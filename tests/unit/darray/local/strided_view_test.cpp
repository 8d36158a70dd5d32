// SPDX-License-Identifier: Apache-2.0
#include "darray/local/strided_view.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace impishim::darray {
namespace {

class View : public testing::Test {
 protected:
  View() : data(24) { std::iota(data.begin(), data.end(), 0); }
  static std::vector<int> elements(const StridedView<const int>& view) {
    std::vector<int> result;
    view.for_each([&](int element) { result.push_back(element); });
    return result;
  }
  std::vector<int> data;
};

TEST_F(View, RowMajor) {
  const StridedView<int> view(data.data(), {2, 3, 4});
  EXPECT_EQ(view.rank(), 3);
  EXPECT_EQ(view.size(), 24);
  EXPECT_EQ(view(1, 2, 3), 23);
  EXPECT_EQ(view.at(std::vector<Index>{1, 0, 2}), 14);
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_EQ(view.span().size(), 24U);
  view(0, 0, 1) = 100;
  EXPECT_EQ(data[1], 100);
}

TEST_F(View, SectionsAndPermutations) {
  const StridedView<int> view(data.data(), {4, 6});
  EXPECT_EQ(elements(view.section({{3, 2, -2}, {1, 2, 3}})), (std::vector<int>{19, 22, 7, 10}));
  const auto turned = view.permute(std::vector<int>{1, 0});
  EXPECT_EQ(turned.extents(), (std::vector<Index>{6, 4}));
  EXPECT_EQ(turned(5, 3), 23);
  EXPECT_FALSE(turned.is_contiguous());
  EXPECT_EQ(elements(turned.section({{2, 1, 1}, {0, 4, 1}})), (std::vector<int>{2, 8, 14, 20}));
  EXPECT_EQ(turned.patch().at(1), 6);
}

TEST_F(View, NoAxesAndNoElements) {
  const StridedView<int> one(data.data() + 3, {});
  EXPECT_EQ(one.size(), 1);
  EXPECT_EQ(one(), 3);
  EXPECT_EQ(elements(one), std::vector<int>{3});
  const StridedView<int> none(data.data(), {0, 5});
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(elements(none), std::vector<int>{});
  EXPECT_EQ(elements(StridedView<int>(data.data(), {4, 6}).section({{0, 0, 1}, {0, 6, 1}})),
            std::vector<int>{});
}

TEST_F(View, Errors) {
  const StridedView<int> view(data.data(), {4, 6});
  EXPECT_THROW((void)view.at(std::vector<Index>{4, 0}), Error);
  EXPECT_THROW((void)view.at(std::vector<Index>{0, -1}), Error);
  EXPECT_THROW((void)view.at(std::vector<Index>{0}), Error);
  EXPECT_THROW((void)view.section({{0, 5, 1}, {0, 6, 1}}), Error);
  EXPECT_THROW((void)view.section({{0, 4, 1}}), Error);
  EXPECT_THROW((void)view.permute(std::vector<int>{0, 0}), Error);
  EXPECT_THROW((void)view.permute(std::vector<int>{0}), Error);
  EXPECT_THROW((void)view.permute(std::vector<int>{1, 0}).span(), Error);
  EXPECT_THROW(StridedView<int>(data.data(), {1, 2}, {1}), Error);
}

}  // namespace
}  // namespace impishim::darray
