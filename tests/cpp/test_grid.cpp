// The odometer against nested loops.
#include "check.hpp"
#include "walk/grid.hpp"

#include <limits>

using pyharness::Grid;
using pyharness::Odometer;
using pyharness::Value;

namespace {

// Every combination, the last axis fastest, by recursion.
void nest(const Grid &grid, std::vector<Value> &row, std::vector<std::vector<Value>> &rows) {
    if (row.size() == grid.axes.size()) return rows.push_back(row);
    for (const Value value : grid.axes[row.size()]) {
        row.push_back(value);
        nest(grid, row, rows);
        row.pop_back();
    }
}

std::vector<std::vector<Value>> nested(const Grid &grid) {
    std::vector<Value> row;
    std::vector<std::vector<Value>> rows;
    nest(grid, row, rows);
    return rows;
}

std::vector<Value> values_of(const Odometer &odometer, const Grid &grid) {
    return {odometer.values(), odometer.values() + grid.axes.size()};
}

void follows_nested_loops(const Grid &grid) {
    const auto rows = nested(grid);
    const auto n = static_cast<std::int64_t>(rows.size());
    CHECK_EQUAL(grid.size(), n);
    for (std::int64_t begin = 0; begin < n; ++begin) {
        Odometer odometer(grid, begin);
        for (std::int64_t row = begin; row < n; ++row, odometer.next())
            CHECK(values_of(odometer, grid) == rows[static_cast<std::size_t>(row)]);
        CHECK(values_of(odometer, grid) == rows[0]); // past the end it begins again
    }
    Odometer odometer(grid, 0);
    for (std::int64_t step = 0; step < 3 * n; ++step) { // there and back, in no order
        const std::int64_t row = step * 7 % n;
        odometer.seek(row);
        CHECK(values_of(odometer, grid) == rows[static_cast<std::size_t>(row)]);
    }
}

} // namespace

int main() {
    follows_nested_loops({{{5}}, {}});
    follows_nested_loops({{{5}, {6}, {7}}, {}});
    follows_nested_loops({{{1, 2, 3}}, {}});
    follows_nested_loops({{{1, 2}, {9}, {3, 4, 5}}, {}});
    follows_nested_loops({{{8}, {1, 2, 3}, {9}, {3, 4}, {-1}, {7, 6, 5, 4}, {0}}, {}});
    const Value least = std::numeric_limits<Value>::min(), most = std::numeric_limits<Value>::max();
    follows_nested_loops({{{least, most, 0}, {0, 0}, {most, least}}, {}});
    CHECK(check::throws<std::invalid_argument>([] { Odometer({{{1}, {}}, {}}, 0); },
                                               "an axis without values"));
    return check::result();
}
