// What a card is, by the settings: libcuda and libnvidia-ml say the same.
#pragma once

#include "settings.hpp"

#include <algorithm>

namespace emulator {

constexpr int kMaxCards = 16;

inline int card_count() { return static_cast<int>(number("devices", 1)); }
inline std::string card_name() { return setting("name").value_or("Emulated GPU"); }
inline int driver_version() { return static_cast<int>(number("driver_version", 12080)); }
inline std::size_t card_bytes() {
    return static_cast<std::size_t>(number("memory_bytes", 17179869184.0));
}
// What cuMemGetInfo tells is a multiple of it.
inline std::size_t memory_step_bytes() {
    return static_cast<std::size_t>(std::max(number("memory_step_bytes", 1), 1.0));
}
inline std::size_t l2_bytes() { return static_cast<std::size_t>(number("l2_bytes", 41943040.0)); }

// As the driver writes it: domain:bus:device.function
inline std::string card_bus_id(int ordinal) {
    static const char *const digits = "0123456789ABCDEF";
    return std::string("0000:1") + digits[ordinal % 16] + ":00.0";
}

} // namespace emulator
