#include "measure/sampling.hpp"

#include <chrono>

namespace pyharness {

namespace {

std::vector<Event> events(const Driver &driver, std::size_t count) {
    std::vector<Event> made;
    made.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        made.emplace_back(driver);
    return made;
}

// Runs that follow one another at once: an event between them ends one sample and starts the next.
template <class Run>
std::vector<double> back_to_back(Handle &handle, std::size_t count, Run &&run) {
    const std::vector<Event> marks = events(handle.driver(), count + 1);
    const abi::CuStream stream = handle.stream().get();
    for (const Event &mark : marks) {
        run();
        mark.record(stream);
    }
    marks.back().synchronize();
    std::vector<double> seconds;
    for (std::size_t i = 0; i < count; ++i)
        seconds.push_back(marks[i + 1].seconds_since(marks[i]));
    return seconds;
}

// Runs with something else between them: two events for each.
template <class Between, class Run>
std::vector<double> apart(Handle &handle, std::size_t count, Between &&between, Run &&run) {
    const std::vector<Event> starts = events(handle.driver(), count + 1);
    const std::vector<Event> ends = events(handle.driver(), count + 1);
    const abi::CuStream stream = handle.stream().get();
    for (std::size_t i = 0; i <= count; ++i) {
        between();
        starts[i].record(stream);
        run();
        ends[i].record(stream);
    }
    ends.back().synchronize();
    std::vector<double> seconds;
    for (std::size_t i = 1; i <= count; ++i)
        seconds.push_back(ends[i].seconds_since(starts[i]));
    return seconds;
}

std::vector<double> enqueueing(Plan &plan, Pass pass, std::size_t count) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> seconds;
    for (std::size_t i = 0; i <= count; ++i) {
        plan.prepare(pass);
        plan.handle().stream().synchronize();
        const auto start = Clock::now();
        plan.enqueue(pass);
        const std::chrono::duration<double> spent = Clock::now() - start;
        plan.handle().stream().synchronize();
        if (i > 0) seconds.push_back(spent.count());
    }
    return seconds;
}

} // namespace

Sampling sampling_named(const std::string &name) {
    if (name == "hot") return Sampling::kHot;
    if (name == "cold") return Sampling::kCold;
    if (name == "graph") return Sampling::kGraph;
    if (name == "enqueue") return Sampling::kEnqueue;
    throw std::invalid_argument("no way of sampling is called " + name);
}

std::vector<double> sample(Plan &plan, Pass pass, Sampling how, std::size_t count) {
    plan.start(pass);
    if (how == Sampling::kEnqueue) return enqueueing(plan, pass, count);
    const Graph *graph = how == Sampling::kGraph ? &plan.graph(pass) : nullptr;
    const bool cold = how == Sampling::kCold;
    const auto run = [&] {
        if (graph != nullptr) plan.replay(*graph, pass);
        else plan.enqueue(pass);
    };
    const auto between = [&] {
        plan.prepare(pass);
        if (cold) plan.flush_l2();
    };
    if (cold || Passes::needs_others(pass)) return apart(plan.handle(), count, between, run);
    plan.prepare(pass);
    return back_to_back(plan.handle(), count, run);
}

} // namespace pyharness
