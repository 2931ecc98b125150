// The virtual clock: what a pass costs each time, and when things are done.
#include "clock.hpp"
#include "driver.hpp"
#include "state_file.hpp"

#include <cmath>
#include <cstring>

namespace emulator {

namespace {

// Passes from `after` on, `length` of them, take `factor` times as long.
struct Throttle {
    double after = 0, length = 0, factor = 1;

    double on(std::uint64_t pass) const {
        const double since = static_cast<double>(pass) - after;
        return since >= 0 && since < length ? factor : 1;
    }
};

struct Tuning {
    double call_ns, graph_cost, noise, seed, slower, drift, clock;
    double process_noise, common_noise, card_drift;
    double card_noise = 0, card_reach = 1, clock_noise = 0, clock_reach = 1;
    double outlier_share = 0, outlier_factor = 1;
    Throttle throttle{}, card_throttle{};
};

// A:B, or what was there before.
void read_pair(const char *key, double &first, double &second) {
    const auto text = setting(key);
    if (!text) return;
    const auto words = split(*text, ":");
    first = *read_number(words[0]);
    second = *read_number(words[1]);
}

Throttle read_throttle(const char *key) {
    const auto text = setting(key);
    if (!text) return {};
    const auto words = split(*text, ":,");
    return {*read_number(words[1]), *read_number(words[3]), *read_number(words[5])};
}

Tuning read_tuning() {
    Tuning read{number("call_ns", 0),    number("graph_cost", 1),    number("noise", 0),
                number("noise_seed", 0), number("slower", 1),        number("drift", 0),
                number("clock", 1),      number("process_noise", 0), number("common_noise", 0),
                number("card_drift", 0)};
    read_pair("card_noise", read.card_noise, read.card_reach);
    read_pair("clock_noise", read.clock_noise, read.clock_reach);
    read_pair("outliers", read.outlier_share, read.outlier_factor);
    read.throttle = read_throttle("throttle");
    read.card_throttle = read_throttle("card_throttle");
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

std::uint64_t mixed(std::uint64_t bits) {
    for (const std::uint64_t factor : {0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU}) {
        bits += 0x9e3779b97f4a7c15U;
        bits = (bits ^ (bits >> 30)) * factor;
        bits ^= bits >> 31;
    }
    return bits;
}

// A number in (0, 1) that is the `which`-th of the pass: always the same, whatever was drawn
// before.
double uniform(double seed, std::uint64_t pass, std::uint64_t which) {
    const auto of_seed = static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15U;
    const std::uint64_t bits = mixed(of_seed + pass * 3 + which);
    return (static_cast<double>(bits >> 11) + 0.5) / 9007199254740992.0;
}

// The normal number that belongs to a pass, or to whatever else has such a number.
double normal(double seed, std::uint64_t pass) {
    static const double pi = std::acos(-1.0);
    return std::sqrt(-2 * std::log(uniform(seed, pass, 0))) *
           std::cos(2 * pi * uniform(seed, pass, 1));
}

// Lognormal with mean 1, so that noise leaves the mean cost what it is.
double lognormal(double sigma, double normal) {
    return std::exp(sigma * normal - sigma * sigma / 2);
}

// What has a number of its own, beside the passes of the first process.
enum About : std::uint64_t { kPass, kCost, kProcess, kCard, kClock, kAbouts };
std::uint64_t named(About about, std::uint64_t of, std::uint64_t more = 0) {
    return mixed(mixed(of * kAbouts + about) + more);
}

// What stays the same for many passes: the last one is kept for each kind.
template <class Make>
double steady(double seed, About about, std::uint64_t of, std::uint64_t more, Make make) {
    struct Kept {
        double seed = -1;
        std::uint64_t of = 0, more = 0;
        double value = 0;
    };
    static Kept all[2 * kAbouts];
    Kept &kept = all[2 * about + of % 2]; // passes are between two of those of the card
    if (kept.seed != seed || kept.of != of || kept.more != more) kept = {seed, of, more, make()};
    return kept.value;
}

double steady_normal(double seed, About about, std::uint64_t of, std::uint64_t more = 0) {
    return steady(seed, about, of, more, [&] { return normal(seed, named(about, of, more)); });
}

std::uint64_t bits_of(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Numbers that remember those before them: exp(-1) of what they are is left kKnots later.
constexpr double kKnots = 8;
double remembering(double seed, About about, std::uint64_t knot) {
    constexpr int kTerms = 48; // what is left out is 0.2 % of it
    const double kept = std::exp(-1 / kKnots);
    return steady(seed, about, knot, 0, [&] {
        double sum = 0, weight = std::sqrt(1 - kept * kept);
        for (std::uint64_t before = 0; before < kTerms; ++before, weight *= kept)
            sum += weight * normal(seed, named(about, knot + kTerms - before));
        return sum;
    });
}

// What passes share that are near in time, in whatever process: it fades over `reach` passes, as
// an Ornstein-Uhlenbeck process does. Between two knots it is their mean by distance, scaled to
// their spread.
double shared(const Tuning &by, About about, double sigma, double reach, std::uint64_t on_card) {
    if (sigma == 0) return 1;
    const double at = static_cast<double>(on_card) * kKnots / std::max(reach, 1.0);
    const auto knot = static_cast<std::uint64_t>(at);
    const double part = at - std::floor(at), rest = 1 - part;
    const double between =
        rest * remembering(by.seed, about, knot) + part * remembering(by.seed, about, knot + 1);
    const double spread = rest * rest + part * part + 2 * rest * part * std::exp(-1 / kKnots);
    return lognormal(sigma, between / std::sqrt(spread));
}

// The share of its clock that the card has at a pass.
double clock_at(const Tuning &by, std::uint64_t on_card) {
    return by.clock / shared(by, kClock, by.clock_noise, by.clock_reach, on_card);
}

// The same process on the same card draws the same noise; others draw other noise, if processes
// are to differ.
double varied(const Tuning &by, const Place &at, double cost_ns) {
    const bool differ = by.process_noise > 0 || by.common_noise > 0;
    const std::uint64_t own = differ ? named(kPass, at.process, at.pass) : at.pass;
    double factor = by.slower * (1 + by.drift * static_cast<double>(at.pass));
    factor *= (1 + by.card_drift * static_cast<double>(at.on_card)) / clock_at(by, at.on_card);
    factor *= by.throttle.on(at.pass) * by.card_throttle.on(at.on_card);
    factor *= shared(by, kCard, by.card_noise, by.card_reach, at.on_card);
    if (uniform(by.seed, own, 2) < by.outlier_share) factor *= by.outlier_factor;
    if (by.noise > 0) factor *= lognormal(by.noise, normal(by.seed, own));
    if (by.process_noise > 0) {
        const double drawn = steady_normal(by.seed, kCost, at.process, bits_of(cost_ns));
        factor *= lognormal(by.process_noise, drawn);
    }
    if (by.common_noise > 0)
        factor *= lognormal(by.common_noise, steady_normal(by.seed, kProcess, at.process));
    return cost_ns * factor;
}

// Which of the processes on the card this is; it is one from its first pass on.
std::uint64_t process_on(int ordinal) {
    static std::map<int, std::uint64_t> numbers;
    const auto found = numbers.find(ordinal);
    if (found != numbers.end()) return found->second;
    return numbers[ordinal] = card_state(ordinal).processes++;
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
    CardState &card = card_state(context.ordinal);
    const Place at{process_on(context.ordinal), passes++, card.passes++};
    double cost = node.cost_ns * (replayed ? by.graph_cost : 1);
    if (context.flushed) cost += node.cold_ns;
    context.flushed = false;
    card.show_work(by.throttle.on(at.pass) * by.card_throttle.on(at.on_card),
                   clock_at(by, at.on_card));
    return varied(by, at, cost);
}

} // namespace emulator

void pyharness_emulator_configure(const char *text) { emulator::configure(text); }

void pyharness_emulator_costs(std::uint64_t process, std::uint64_t on_card, std::uint64_t cases,
                              const double *cost_ns, std::uint64_t count, double *ns, double *mhz) {
    const emulator::Tuning &by = emulator::tuning();
    for (std::uint64_t pass = 0; pass < cases * count; ++pass) {
        const std::uint64_t place = on_card + pass;
        ns[pass] = emulator::varied(by, {process, pass, place}, cost_ns[pass / count]);
        mhz[pass / count] = std::floor(emulator::kSmClockMhz * emulator::clock_at(by, place));
    }
}
