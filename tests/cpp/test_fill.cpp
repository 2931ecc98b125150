// Random numbers by seed, name and index, and how they are rounded to each data type.
#include "check.hpp"
#include "rnn/fill.hpp"

#include <array>
#include <limits>
#include <set>
#include <vector>

using namespace pyharness;

namespace {

// What the bits of a 16-bit type stand for, from the definition of its format.
double value_of(unsigned bits, int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
    const int exponent = static_cast<int>(bits >> mantissa_bits) & top;
    const int mantissa = static_cast<int>(bits & ((1U << mantissa_bits) - 1));
    const double sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == top)
        return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                             : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

// Every number of the type is itself; between two neighbours the nearer wins, and in the middle
// the even one.
void rounds(std::uint16_t (*narrow)(double), int exponent_bits, int mantissa_bits) {
    const unsigned infinity = ((1U << exponent_bits) - 1) << mantissa_bits;
    int wrong = 0;
    for (unsigned bits = 0; bits < infinity; ++bits) {
        const double low = value_of(bits, exponent_bits, mantissa_bits);
        // Above the largest number lies infinity, at the place of the next one.
        const double high = bits + 1 < infinity
                                ? value_of(bits + 1, exponent_bits, mantissa_bits)
                                : low + (low - value_of(bits - 1, exponent_bits, mantissa_bits));
        const double middle = low + (high - low) / 2;
        const unsigned even = bits % 2 == 0 ? bits : bits + 1;
        for (const unsigned sign : {0U, 0x8000U}) {
            const double s = sign != 0 ? -1 : 1;
            wrong += narrow(s * low) != (sign | bits);
            wrong += narrow(s * middle) != (sign | even);
            wrong += narrow(s * std::nextafter(middle, 0)) != (sign | bits);
            wrong += narrow(s * std::nextafter(middle, 1e300)) != (sign | (bits + 1));
        }
    }
    CHECK_EQUAL(wrong, 0);
    CHECK_EQUAL(narrow(1e300), infinity);
    CHECK_EQUAL(narrow(-std::numeric_limits<double>::infinity()), 0x8000U | infinity);
    CHECK(std::isnan(value_of(narrow(std::nan("")), exponent_bits, mantissa_bits)));
    CHECK_EQUAL(narrow(std::numeric_limits<double>::denorm_min()), 0);
}

void knows_known_bits() {
    CHECK_EQUAL(to_half(1.0), 0x3c00);
    CHECK_EQUAL(to_half(-2.0), 0xc000);
    CHECK_EQUAL(to_half(65504.0), 0x7bff);
    CHECK_EQUAL(to_half(65520.0), 0x7c00);
    CHECK_EQUAL(to_half(0x1p-24), 0x0001);
    CHECK_EQUAL(to_bfloat16(1.0), 0x3f80);
    CHECK_EQUAL(to_bfloat16(3.140625), 0x4049);
    // To float first this would be a tie, and end at the even 1.0.
    CHECK_EQUAL(to_half(1 + 0x1p-11 + 0x1p-40), 0x3c01);
}

void draws_by_seed_name_and_index() {
    const Uniform x(7, "x");
    const std::array<double, 3> first = {x(0), x(1), x(2)};
    CHECK(x(1) == first[1]); // in any order
    CHECK(Uniform(7, "x")(2) == first[2]);
    CHECK(Uniform(8, "x")(0) != first[0]);
    CHECK(Uniform(7, "hx")(0) != first[0]);
    CHECK(Uniform(7, "x")(std::uint64_t{1} << 40) != first[0]);
}

// n numbers uniform in [-1, 1): mean 0 with a deviation of sqrt(1/3n), mean square 1/3 with one of
// sqrt(4/45n), neighbours uncorrelated with one of 1/(3 sqrt n). Five deviations are allowed.
void draws_uniformly() {
    constexpr int n = 1 << 20;
    for (const char *name : {"x", "l0.forward.input.x.matrix"}) {
        const Uniform uniform(0, name);
        double sum = 0, squares = 0, products = 0, least = 1, most = -1, last = 0;
        std::set<double> distinct;
        for (int i = 0; i < n; ++i) {
            const double v = uniform(static_cast<std::uint64_t>(i));
            sum += v, squares += v * v, products += v * last, last = v;
            least = std::min(least, v), most = std::max(most, v);
            if (i < 10000) distinct.insert(v);
        }
        CHECK(std::fabs(sum / n) < 5 * std::sqrt(1.0 / 3 / n));
        CHECK(std::fabs(squares / n - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / n));
        CHECK(std::fabs(products / n) < 5 / (3 * std::sqrt(static_cast<double>(n))));
        CHECK(least >= -1 && least < -0.9999 && most < 1 && most > 0.9999);
        CHECK_EQUAL(distinct.size(), 10000);
    }
}

void converts_a_run_from_an_index_on() {
    const auto value = [](std::uint64_t index) { return static_cast<double>(index) + 0.25; };
    std::array<double, 2> doubles{};
    std::array<float, 2> floats{};
    std::array<std::uint16_t, 2> halves{}, bfloats{};
    convert(kDouble, value, 3, 2, doubles.data());
    convert(kFloat, value, 3, 2, floats.data());
    convert(kHalf, value, 3, 2, halves.data());
    convert(kBfloat16, value, 3, 2, bfloats.data());
    CHECK_EQUAL(doubles[1], 4.25);
    CHECK_EQUAL(floats[0], 3.25F);
    CHECK_EQUAL(halves[1], 0x4440);
    CHECK_EQUAL(bfloats[0], 0x4050);
    CHECK_EQUAL(element_bytes(kFloat), 4);
    CHECK_EQUAL(element_bytes(kBfloat16), 2);
    CHECK_EQUAL(element_bytes(kDouble), 8);
    CHECK_EQUAL(element_bytes(-1), 8);
}

} // namespace

int main() {
    rounds(to_half, 5, 10);
    rounds(to_bfloat16, 8, 7);
    knows_known_bits();
    draws_by_seed_name_and_index();
    draws_uniformly();
    converts_a_run_from_an_index_on();
    return check::result();
}
