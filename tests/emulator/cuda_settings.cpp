#include "card.hpp"
#include "wrongs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <unistd.h>

namespace emulator {

namespace {

enum Kind {
    kAmount,
    kPositive,
    kNumber,
    kText,
    kCards,
    kSwitch,
    kCapability,
    kShare,
    kPair,
    kThrottle,
    kNames
};

// A function's own, as configure() runs before this file's variables are made.
const std::map<std::string, Kind> &keys() {
    static const std::map<std::string, Kind> all = {
        {"cudnn", kText},
        {"memory_bytes", kAmount},
        {"memory_step_bytes", kAmount},
        {"devices", kCards},
        {"name", kText},
        {"compute_capability", kCapability},
        {"unsupported_arch", kAmount},
        {"multiprocessors", kAmount},
        {"l2_bytes", kAmount},
        {"driver_version", kAmount},
        {"compute", kSwitch},
        {"call_ns", kAmount},
        {"enqueue_us", kAmount},
        {"cost_ns", kAmount},
        {"cost_ns.forward_inference", kAmount},
        {"cost_ns.forward_training", kAmount},
        {"cost_ns.backward_data", kAmount},
        {"cost_ns.backward_weights", kAmount},
        {"flops_per_s", kAmount},
        {"graph_cost", kAmount},
        {"cold_ns", kAmount},
        {"noise", kAmount},
        {"noise_seed", kAmount},
        {"outliers", kShare},
        {"slower", kAmount},
        {"drift", kNumber},
        {"throttle", kThrottle},
        {"clock", kPositive},
        {"process_noise", kAmount},
        {"common_noise", kAmount},
        {"card_noise", kPair},
        {"clock_noise", kPair},
        {"card_drift", kNumber},
        {"card_throttle", kThrottle},
        {"wrong", kNames},
    };
    return all;
}

struct Store {
    std::mutex mutex;
    std::map<std::string, std::string> values;
    unsigned generation = 1;
};

// Never destroyed: other libraries' exit handlers may still ask.
Store &store() {
    static Store &only = *new Store;
    return only;
}

std::string trimmed(const std::string &text) {
    const std::size_t from = text.find_first_not_of(" \t\r");
    if (from == std::string::npos) return "";
    return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

bool amount(const std::string &text) { return read_number(text).value_or(-1) >= 0; }

// A:B
bool pair(const std::string &text) {
    const std::vector<std::string> both = split(text, ":");
    return both.size() == 2 && amount(both[0]) && amount(both[1]);
}

// P:FACTOR
bool share(const std::string &text) { return pair(text) && *read_number(split(text, ":")[0]) <= 1; }

// after:N,for:M,factor:F
bool throttle(const std::string &text) {
    const std::vector<std::string> words = split(text, ":,");
    return words.size() == 6 && words[0] == "after" && words[2] == "for" && words[4] == "factor" &&
           amount(words[1]) && amount(words[3]) && amount(words[5]);
}

bool capability(const std::string &text) {
    const std::vector<std::string> both = split(text, ".");
    return both.size() == 2 && amount(both[0]) && amount(both[1]);
}

// NAME[,NAME…]
bool names(const std::string &text) {
    const std::vector<std::string> all = split(text, ",");
    return std::all_of(all.begin(), all.end(), [](const std::string &name) {
        return std::find(std::begin(kWrongs), std::end(kWrongs), name) != std::end(kWrongs);
    });
}

bool readable(Kind kind, const std::string &value) {
    switch (kind) {
    case kAmount: return amount(value);
    case kPositive: return read_number(value).value_or(0) > 0;
    case kCards: return amount(value) && *read_number(value) <= kMaxCards;
    case kNumber: return read_number(value).has_value();
    case kText: return !value.empty();
    case kSwitch: return value == "on" || value == "off";
    case kCapability: return capability(value);
    case kShare: return share(value);
    case kPair: return pair(value);
    case kThrottle: return throttle(value);
    case kNames: return names(value);
    }
    return false;
}

void read_environment() __attribute__((constructor));
void read_environment() {
    if (const char *text = std::getenv("PYHARNESS_EMULATOR")) configure(text);
}

} // namespace

void refuse_setting(const std::string &what) {
    std::fprintf(stderr, "emulator: %s\n", what.c_str());
    _exit(2);
}

std::vector<std::string> split(const std::string &text, const std::string &separators) {
    std::vector<std::string> parts(1);
    for (const char letter : text) {
        if (separators.find(letter) == std::string::npos) parts.back() += letter;
        else parts.emplace_back();
    }
    return parts;
}

std::optional<double> read_number(const std::string &text) {
    if (text.empty()) return std::nullopt;
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
    return value;
}

void configure(const std::string &text) {
    for (const std::string &part : split(text, "\n;")) {
        const std::string line = trimmed(part);
        if (line.empty()) continue;
        const std::size_t equals = line.find('=');
        if (equals == std::string::npos) refuse_setting("'" + line + "' is not key=value");
        const std::string key = trimmed(line.substr(0, equals));
        const std::string value = trimmed(line.substr(equals + 1));
        if (key == "fault") {
            add_fault(value);
            continue;
        }
        const auto known = keys().find(key);
        if (known == keys().end()) refuse_setting("there is no setting '" + key + "'");
        if (!readable(known->second, value))
            refuse_setting("'" + value + "' is no value of the setting " + key);
        const std::lock_guard<std::mutex> lock(store().mutex);
        store().values[key] = value;
        ++store().generation;
    }
}

std::optional<std::string> setting(const std::string &key) {
    const std::lock_guard<std::mutex> lock(store().mutex);
    const auto found = store().values.find(key);
    if (found == store().values.end()) return std::nullopt;
    return found->second;
}

double number(const std::string &key, double otherwise) {
    const std::optional<std::string> text = setting(key);
    return text ? read_number(*text).value_or(otherwise) : otherwise;
}

unsigned generation() {
    const std::lock_guard<std::mutex> lock(store().mutex);
    return store().generation;
}

} // namespace emulator
