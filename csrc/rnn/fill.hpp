// Random numbers that depend on nothing but a seed, a name and an index, in a tensor's data type.
#pragma once

#include "rnn/settings.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace pyharness {

// Uniform in [-1, 1), the same whatever is drawn before and in which order.
class Uniform {
  public:
    Uniform(std::uint64_t seed, const std::string &name) : key_(mixed(seed ^ hash(name))) {}

    double operator()(std::uint64_t index) const {
        const std::uint64_t bits = mixed(key_ + (index + 1) * kGolden);
        return static_cast<double>(static_cast<std::int64_t>(bits) >> 11) * 0x1p-52;
    }

  private:
    static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

    // The finalizer of SplitMix64.
    static constexpr std::uint64_t mixed(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    // FNV-1a
    static std::uint64_t hash(const std::string &name) {
        std::uint64_t h = 0xcbf29ce484222325;
        for (const char c : name)
            h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        return h;
    }

    std::uint64_t key_;
};

// The nearest number of a 16-bit type, ties to even, as its bits: from the double at once, since
// rounding twice is not rounding.
template <int kExponentBits, int kMantissaBits> std::uint16_t rounded(double value) {
    constexpr int kBias = (1 << (kExponentBits - 1)) - 1, kDropped = 52 - kMantissaBits;
    constexpr std::uint64_t kRebias = std::uint64_t{1023 - kBias} << 52;
    constexpr std::uint64_t kInfinity = ((std::uint64_t{1} << kExponentBits) - 1) << kMantissaBits;
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const std::uint64_t sign = bits >> 63 << (kExponentBits + kMantissaBits);
    std::uint64_t size = bits & ~(std::uint64_t{1} << 63);
    if (std::isnan(value)) size = kInfinity | (std::uint64_t{1} << (kMantissaBits - 1));
    else if (size >= kRebias + (std::uint64_t{1} << 52)) {
        // A carry out of the mantissa goes on into the exponent, where it belongs.
        size -= kRebias;
        size += (std::uint64_t{1} << (kDropped - 1)) - 1 + (size >> kDropped & 1);
        size >>= kDropped;
        if (size > kInfinity) size = kInfinity;
    } else {
        // Subnormal there: a multiple of its smallest number.
        size = static_cast<std::uint64_t>(
            std::nearbyint(std::ldexp(std::fabs(value), kBias - 1 + kMantissaBits)));
    }
    return static_cast<std::uint16_t>(sign | size);
}
inline std::uint16_t to_half(double value) { return rounded<5, 10>(value); }
inline std::uint16_t to_bfloat16(double value) { return rounded<8, 7>(value); }

// Bytes of one element. Types that no release takes for an RNN count as the widest.
inline std::size_t element_bytes(int data_type) {
    switch (data_type) {
    case kFloat: return 4;
    case kHalf:
    case kBfloat16: return 2;
    default: return 8;
    }
}

// Writes `count` elements made by `value(index)`, from index `first` on, in a data type.
template <class Source>
void convert(int data_type, const Source &value, std::uint64_t first, std::size_t count, void *to) {
    const auto each = [&](auto *out, auto &&narrow) {
        for (std::size_t i = 0; i < count; ++i)
            out[i] = narrow(value(first + i));
    };
    switch (data_type) {
    case kFloat:
        return each(static_cast<float *>(to), [](double v) { return static_cast<float>(v); });
    case kHalf: return each(static_cast<std::uint16_t *>(to), to_half);
    case kBfloat16: return each(static_cast<std::uint16_t *>(to), to_bfloat16);
    default: return each(static_cast<double *>(to), [](double v) { return v; });
    }
}

} // namespace pyharness
