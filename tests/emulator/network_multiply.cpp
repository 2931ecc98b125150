#include "network_multiply.hpp"

#include <algorithm>

namespace emulator {

namespace {

// Blocks that stay in the caches: a strip of b is read from the first level for each tile.
constexpr std::size_t kTile = 4;
constexpr std::size_t kDepth = 256;
constexpr std::size_t kHeight = 32;

// `width` lines from `first`, depth by depth as a tile reads them, padded with zeros: the tile is
// always whole, the padding not stored.
void pack(const double *first, std::size_t line_stride, std::size_t depth_stride, std::size_t width,
          std::size_t depth, double *strip) {
    for (std::size_t k = 0; k < depth; ++k)
        for (std::size_t i = 0; i < kTile; ++i)
            strip[k * kTile + i] = i < width ? first[i * line_stride + k * depth_stride] : 0.0;
}

// The widest vector that every x86-64 and AArch64 machine has.
using Pair = double __attribute__((vector_size(16)));

void add_tile(const double *a, const double *b, std::size_t depth, double *c, std::size_t c_stride,
              std::size_t rows, std::size_t cols) {
    Pair sum00{}, sum01{}, sum10{}, sum11{}, sum20{}, sum21{}, sum30{}, sum31{};
    for (std::size_t k = 0; k < depth; ++k, a += kTile, b += kTile) {
        const Pair left{b[0], b[1]}, right{b[2], b[3]};
        sum00 += a[0] * left, sum01 += a[0] * right;
        sum10 += a[1] * left, sum11 += a[1] * right;
        sum20 += a[2] * left, sum21 += a[2] * right;
        sum30 += a[3] * left, sum31 += a[3] * right;
    }
    const double sums[kTile][kTile] = {{sum00[0], sum00[1], sum01[0], sum01[1]},
                                       {sum10[0], sum10[1], sum11[0], sum11[1]},
                                       {sum20[0], sum20[1], sum21[0], sum21[1]},
                                       {sum30[0], sum30[1], sum31[0], sum31[1]}};
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < cols; ++j)
            c[i * c_stride + j] += sums[i][j];
}

} // namespace

void add_product(const View &a, const View &b, double *c, std::size_t c_stride) {
    double packed[kHeight * kDepth], strip[kTile * kDepth];
    for (std::size_t k = 0; k < a.cols; k += kDepth) {
        const std::size_t depth = std::min(kDepth, a.cols - k);
        for (std::size_t i = 0; i < a.rows; i += kHeight) {
            const std::size_t height = std::min(kHeight, a.rows - i);
            for (std::size_t tile = 0; tile < height; tile += kTile)
                pack(a.data + (i + tile) * a.row_stride + k * a.col_stride, a.row_stride,
                     a.col_stride, std::min(kTile, height - tile), depth, packed + tile * kDepth);
            for (std::size_t j = 0; j < b.cols; j += kTile) {
                const std::size_t cols = std::min(kTile, b.cols - j);
                pack(b.data + k * b.row_stride + j * b.col_stride, b.col_stride, b.row_stride, cols,
                     depth, strip);
                for (std::size_t tile = 0; tile < height; tile += kTile)
                    add_tile(packed + tile * kDepth, strip, depth, c + (i + tile) * c_stride + j,
                             c_stride, std::min(kTile, height - tile), cols);
            }
        }
    }
}

} // namespace emulator
