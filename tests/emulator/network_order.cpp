#include "network_order.hpp"

#include <numeric>
#include <utility>
#include <vector>

namespace emulator {

namespace {

// Numbers below `count` in the order of a key, by Fisher and Yates.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t key) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t left = count; key != 0 && left > 1; --left) {
        key = mixed(key);
        std::swap(order[left - 1], order[key % left]);
    }
    return order;
}

template <class Sum>
void add(const View &a, const View &b, const std::vector<std::size_t> &order, double *c,
         std::size_t c_stride) {
    for (std::size_t i = 0; i < a.rows; ++i)
        for (std::size_t j = 0; j < b.cols; ++j) {
            Sum sum = 0;
            for (const std::size_t k : order)
                sum = static_cast<Sum>(sum + a.data[i * a.row_stride + k * a.col_stride] *
                                                 b.data[k * b.row_stride + j * b.col_stride]);
            c[i * c_stride + j] += sum;
        }
}

} // namespace

std::uint64_t mixed(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15ULL;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

void add_product_in_order(const View &a, const View &b, std::uint64_t key, bool in_float, double *c,
                          std::size_t c_stride) {
    const std::vector<std::size_t> order = shuffled(a.cols, key);
    if (in_float) add<float>(a, b, order, c, c_stride);
    else add<double>(a, b, order, c, c_stride);
}

} // namespace emulator
