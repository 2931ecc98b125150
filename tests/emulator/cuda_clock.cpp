// The virtual clock: what a pass costs each time, and when things are done.
#include "driver.hpp"
#include "state_file.hpp"

#include <cmath>

namespace emulator {

namespace {

struct Tuning {
    double call_ns, graph_cost, noise, seed, slower, drift;
    double outlier_share = 0, outlier_factor = 1;
    double throttle_after = 0, throttle_for = 0, throttle_factor = 1;
};

Tuning read_tuning() {
    Tuning read{number("call_ns", 0),    number("graph_cost", 1), number("noise", 0),
                number("noise_seed", 0), number("slower", 1),     number("drift", 0)};
    if (const auto text = setting("outliers")) {
        const auto words = split(*text, ":");
        read.outlier_share = *read_number(words[0]);
        read.outlier_factor = *read_number(words[1]);
    }
    if (const auto text = setting("throttle")) {
        const auto words = split(*text, ":,");
        read.throttle_after = *read_number(words[1]);
        read.throttle_for = *read_number(words[3]);
        read.throttle_factor = *read_number(words[5]);
    }
    return read;
}

const Tuning &tuning() {
    static Tuning read;
    static unsigned of = 0;
    if (const unsigned now = generation(); now != of) {
        read = read_tuning();
        of = now;
    }
    return read;
}

// A number in (0, 1) that is the `which`-th of the pass: always the same, whatever was drawn
// before.
double uniform(double seed, std::uint64_t pass, std::uint64_t which) {
    std::uint64_t bits = static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15U + pass * 3 + which;
    for (const std::uint64_t factor : {0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU}) {
        bits += 0x9e3779b97f4a7c15U;
        bits = (bits ^ (bits >> 30)) * factor;
        bits ^= bits >> 31;
    }
    return (static_cast<double>(bits >> 11) + 0.5) / 9007199254740992.0;
}

// Lognormal with mean 1, so that noise leaves the mean cost what it is.
double noise(const Tuning &by, std::uint64_t pass) {
    if (by.noise == 0) return 1;
    const double pi = std::acos(-1.0);
    const double normal = std::sqrt(-2 * std::log(uniform(by.seed, pass, 0))) *
                          std::cos(2 * pi * uniform(by.seed, pass, 1));
    return std::exp(by.noise * normal - by.noise * by.noise / 2);
}

} // namespace

double &host_ns() {
    static double now = 0;
    return now;
}

void host_waits_for(double time_ns) { host_ns() = std::max(host_ns(), time_ns); }

void host_calls() { host_ns() += tuning().call_ns; }

double cost_now(Context &context, const Node &node, bool replayed) {
    if (node.flushes) context.flushed = true;
    if (!node.pass) return node.cost_ns;
    static std::uint64_t passes = 0;
    const Tuning &by = tuning();
    const std::uint64_t pass = passes++;
    double cost = node.cost_ns * (replayed ? by.graph_cost : 1);
    if (context.flushed) cost += node.cold_ns;
    context.flushed = false;
    const double since = static_cast<double>(pass) - by.throttle_after;
    const bool throttled = since >= 0 && since < by.throttle_for;
    card_state(context.ordinal).show_work(throttled ? by.throttle_factor : 1);
    if (throttled) cost *= by.throttle_factor;
    if (uniform(by.seed, pass, 2) < by.outlier_share) cost *= by.outlier_factor;
    return cost * by.slower * (1 + by.drift * static_cast<double>(pass)) * noise(by, pass);
}

} // namespace emulator
