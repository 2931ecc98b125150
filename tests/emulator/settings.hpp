// What was set, beside what device.hpp shows of it.
#pragma once

#include "device.hpp"

#include <vector>

namespace emulator {

// Grows with each configure(): who keeps what he read reads it again.
unsigned generation();

// Ends the process with a word on stderr: a setting cannot be read.
[[noreturn]] void refuse_setting(const std::string &what);

std::vector<std::string> split(const std::string &text, const std::string &separators);
// The whole text as a number, if it is one.
std::optional<double> read_number(const std::string &text);

// One more fault, as the setting `fault` says it. The same one twice is one.
void add_fault(const std::string &text);

// What a fault of the card's memory does; null in a library that has none.
extern void (*memory_fault)(const Due &due);

} // namespace emulator
