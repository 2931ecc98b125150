// The reserve space: a stamp that says what it holds, then the tape of the passes.
#pragma once

#include "cudnn_dropout.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace emulator {

constexpr std::size_t kStampBytes = 256;

enum Phase : std::uint64_t { kNothing, kForwardDone, kDataDone };

struct Stamp {
    std::uint64_t mark = 0;
    std::uint64_t problem = 0; // digest of the problem's key
    std::uint64_t phase = kNothing;
    Draw draw;
    // Digests of what the forward pass read; 0: it calculated nothing.
    std::uint64_t x = 0, hx = 0, cx = 0, weights = 0;
};

std::uint64_t digest(const void *bytes, std::size_t count);
std::uint64_t digest(const std::string &key);
std::uint64_t digest(const std::vector<double> &values); // of none: 0

Stamp read_stamp(const void *reserve_space);
void write_stamp(void *reserve_space, Stamp stamp);
inline double *tape_of(void *reserve_space) {
    return reinterpret_cast<double *>(static_cast<char *>(reserve_space) + kStampBytes);
}

// Why a pass that needs this phase of this problem cannot use what is there; empty if it can.
std::string unfit(const Stamp &stamp, std::uint64_t problem, Phase phase);

// What a reserve space will hold when the work that was put into streams has been done. Throws
// Refusal, a broken rule, if a pass that is enqueued now finds something else than it needs.
void expect(const void *reserve_space, void *stream, std::uint64_t problem, Phase wanted);
// A pass was enqueued that leaves `phase` there; `done` is called when it has run, if it was not
// captured.
void promise(const void *reserve_space, std::uint64_t problem, Phase phase, bool captured);
void done(const void *reserve_space);

} // namespace emulator
