// The one matrix product that all passes are made of.
#pragma once

#include <cstddef>

namespace emulator {

// A matrix in somebody's memory; the strides count elements.
struct View {
    const double *data;
    std::size_t rows, cols;
    std::size_t row_stride, col_stride;

    View row(std::size_t at) const {
        return {data + at * row_stride, 1, cols, row_stride, col_stride};
    }
    View transposed() const { return {data, cols, rows, col_stride, row_stride}; }
};

inline View row_major(const double *data, std::size_t rows, std::size_t cols, std::size_t stride) {
    return {data, rows, cols, stride, 1};
}

// c += a × b, with c [a.rows, b.cols] in rows that lie `c_stride` apart.
void add_product(const View &a, const View &b, double *c, std::size_t c_stride);

} // namespace emulator
