#include "cudnn_types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace emulator {

namespace {

constexpr abi::Enum kFloat = 0, kDouble = 1, kHalf = 2, kBfloat16 = 9; // cudnnDataType_t

// A type of 16 bits: one sign, then the exponent, then so many bits of the mantissa.
struct Narrow {
    int mantissa;
    int bias;

    int exponent_mask() const { return (1 << (15 - mantissa)) - 1; }
    int mantissa_mask() const { return (1 << mantissa) - 1; }

    double widen(std::uint16_t bits) const {
        const int exponent = (bits >> mantissa) & exponent_mask();
        const int fraction = bits & mantissa_mask();
        double value;
        if (exponent == exponent_mask()) value = fraction != 0 ? NAN : INFINITY;
        else if (exponent == 0) value = std::ldexp(fraction, 1 - bias - mantissa);
        else value = std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
        return (bits & 0x8000) != 0 ? -value : value;
    }

    std::uint16_t narrow(double value) const {
        const int sign = std::signbit(value) ? 0x8000 : 0;
        const int infinity = exponent_mask() << mantissa;
        if (std::isnan(value)) return static_cast<std::uint16_t>(infinity | 1 << (mantissa - 1));
        const double size = std::fabs(value);
        if (size == 0) return static_cast<std::uint16_t>(sign);
        if (std::isinf(size)) return static_cast<std::uint16_t>(sign | infinity);
        // In units of the last place; what is below the smallest normal number shares its units.
        const int exponent = std::max(std::ilogb(size), 1 - bias);
        const double units = std::nearbyint(std::ldexp(size, mantissa - exponent));
        // A carry out of the mantissa goes into the exponent, as the bits lie.
        const double bits = units + std::ldexp(exponent + bias - 1, mantissa);
        return static_cast<std::uint16_t>(sign |
                                          static_cast<int>(std::min<double>(bits, infinity)));
    }
};

constexpr Narrow kHalfBits{10, 15};
constexpr Narrow kBfloat16Bits{7, 127};

template <class T> void load_as(const void *from, std::size_t count, double *to) {
    const char *bytes = static_cast<const char *>(from);
    for (std::size_t i = 0; i < count; ++i) {
        T value; // tensors need not be aligned in a packed buffer
        std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
        to[i] = static_cast<double>(value);
    }
}

template <class T> void store_as(const double *from, std::size_t count, void *to) {
    char *bytes = static_cast<char *>(to);
    for (std::size_t i = 0; i < count; ++i) {
        const T value = static_cast<T>(from[i]);
        std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
    }
}

void load_narrow(const Narrow &type, const void *from, std::size_t count, double *to) {
    const char *bytes = static_cast<const char *>(from);
    for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t bits;
        std::memcpy(&bits, bytes + 2 * i, 2);
        to[i] = type.widen(bits);
    }
}

void store_narrow(const Narrow &type, const double *from, std::size_t count, void *to) {
    char *bytes = static_cast<char *>(to);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint16_t bits = type.narrow(from[i]);
        std::memcpy(bytes + 2 * i, &bits, 2);
    }
}

} // namespace

std::size_t element_bytes(abi::Enum data_type) {
    switch (data_type) {
    case kFloat: return 4;
    case kDouble: return 8;
    case kHalf:
    case kBfloat16: return 2;
    default: return 0;
    }
}

void load(abi::Enum data_type, const void *from, std::size_t count, double *to) {
    switch (data_type) {
    case kFloat: load_as<float>(from, count, to); break;
    case kDouble: load_as<double>(from, count, to); break;
    case kHalf: load_narrow(kHalfBits, from, count, to); break;
    default: load_narrow(kBfloat16Bits, from, count, to);
    }
}

void store(abi::Enum data_type, const double *from, std::size_t count, void *to) {
    switch (data_type) {
    case kFloat: store_as<float>(from, count, to); break;
    case kDouble: store_as<double>(from, count, to); break;
    case kHalf: store_narrow(kHalfBits, from, count, to); break;
    default: store_narrow(kBfloat16Bits, from, count, to);
    }
}

} // namespace emulator
