// Jobs over the host-validated calls of one library.
#pragma once

#include "shim/library.hpp"
#include "walk/board.hpp"
#include "walk/grid.hpp"

#include <string>
#include <vector>

namespace pyharness {

// The calls that can be walked, by their C names.
std::vector<std::string> call_names();

// The axes of a call in the order in which a grid gives them. Throws std::invalid_argument if the
// call is unknown.
std::vector<std::string> call_axes(const std::string &call);

// Tries rows [begin, begin + count) of the grid, or, where `rows` is given, those rows, and puts
// each status on the board; position 0 of the board is the first.
//
// With `explain`, every row that is not SUCCESS gets cuDNN's own words as a text id, and every row
// that is gets what reads back otherwise than it was set. A walk of a range costs the call itself
// and a few nanoseconds; explaining costs microseconds for each refusal.
//
// One thread: several walkers are several processes, so that a crash names one row, and because a
// refusal takes a lock inside the library in some releases.
struct Job {
    std::string call;
    Grid grid;
    std::int64_t begin = 0;
    std::int64_t count = 0;
    const std::int64_t *rows = nullptr;
    bool explain = false;
};
void walk(const Library &library, Board &board, const Job &job);

// Seconds per call over the given rows, walked `repeats` times on this thread: one sample a repeat.
std::vector<double> time_rows(const Library &library, const Job &job, unsigned repeats);

} // namespace pyharness
