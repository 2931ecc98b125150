// What the harness adds to each call of a timed loop: its own loop beside bare ones that make the
// same calls through the same pointers, while every one of these calls does nothing.
//
//     overhead LIBCUDA LIBCUDNN SAMPLES ROUNDS
//
// A plan is made on the libraries, which must be the emulated ones. Then the functions that a timed
// loop calls are replaced by empty ones. Prints a line a round and loop: pass, mode, calls of cuDNN
// and of the driver in a sample, nanoseconds a sample bare and in the harness, and what a sample
// showed where the host is what is timed.
#include "measure/sampling.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>

using namespace pyharness;

namespace {

// Each leaves a trace, so that no compiler thinks that it could be left out.
volatile unsigned calls = 0;

template <class Function> struct Nothing;
template <class... Parameters> struct Nothing<int(Parameters...)> {
    __attribute__((noinline)) static int call(Parameters...) {
        calls = calls + 1;
        return 0;
    }
};

// The elapsed time is one that a device may show; an event must be something.
__attribute__((noinline)) abi::CuResult some_time(float *milliseconds, abi::CuEvent, abi::CuEvent) {
    *milliseconds = 1;
    return 0;
}
__attribute__((noinline)) abi::CuResult some_event(abi::CuEvent *event, unsigned) {
    *event = event;
    return 0;
}

struct Pointers {
    Api &cudnn;
    CudaApi &cuda;
};

void empty(Pointers &to) {
#define EMPTY(api, name) to.api.name = Nothing<abi::name>::call
    EMPTY(cudnn, cudnnRNNForward);
    EMPTY(cudnn, cudnnRNNBackwardData_v8);
    EMPTY(cudnn, cudnnRNNBackwardWeights_v8);
    EMPTY(cuda, cuMemsetD8Async);
    EMPTY(cuda, cuGraphLaunch);
    EMPTY(cuda, cuStreamSynchronize);
    EMPTY(cuda, cuEventRecord);
    EMPTY(cuda, cuEventSynchronize);
    EMPTY(cuda, cuEventDestroy_v2);
#undef EMPTY
    to.cuda.cuEventCreate = some_event;
    to.cuda.cuEventElapsedTime = some_time;
}

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start, std::size_t samples) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
           static_cast<double>(samples);
}

// How often each kind of call is made for a sample.
struct Loop {
    const char *pass, *mode;
    unsigned forward, data, weights, memset, graph, record, synchronize;

    unsigned of_cudnn() const { return forward + data + weights; }
    unsigned of_cuda() const { return memset + graph + record + synchronize; }
};

constexpr Loop kLoops[] = {
    {"forward_inference", "hot", 1, 0, 0, 0, 0, 1, 0},
    {"forward_training", "hot", 1, 0, 0, 0, 0, 1, 0},
    {"backward_data", "hot", 1, 1, 0, 0, 0, 2, 0},
    {"backward_weights", "hot", 1, 1, 1, 1, 0, 2, 0},
    {"training_step", "hot", 1, 1, 1, 1, 0, 1, 0},
    {"forward_inference", "cold", 1, 0, 0, 1, 0, 2, 0},
    {"forward_inference", "graph", 0, 0, 0, 0, 1, 1, 0},
    {"forward_inference", "enqueue", 1, 0, 0, 0, 0, 0, 2},
};

template <class Function, class... Arguments>
void repeat(unsigned count, Function *function, Arguments... arguments) {
    for (unsigned i = 0; i < count; ++i)
        function(arguments...);
}

// The same calls and nothing else. The pointers are read as they are, and not looked through.
__attribute__((noinline)) double bare(const Pointers &from, const Loop &made, std::size_t samples) {
    auto *volatile forward_now = from.cudnn.cudnnRNNForward;
    auto *volatile data_now = from.cudnn.cudnnRNNBackwardData_v8;
    auto *volatile weights_now = from.cudnn.cudnnRNNBackwardWeights_v8;
    auto *const forward = forward_now;
    auto *const data = data_now;
    auto *const weights = weights_now;
    const CudaApi &cuda = from.cuda;
    int something = 0;
    void *p = &something;
    const auto start = Clock::now();
    for (std::size_t i = 0; i < samples; ++i) {
        repeat(made.forward, forward, p, p, 0, nullptr, p, p, p, p, p, p, p, p, p, p,
               std::size_t{1}, p, std::size_t{1}, p, std::size_t{1}, p);
        repeat(made.memset, cuda.cuMemsetD8Async, abi::CuPointer{1}, '\0', std::size_t{1}, p);
        repeat(made.data, data, p, p, nullptr, p, p, p, p, p, p, p, p, p, p, p, p, p,
               std::size_t{1}, p, std::size_t{1}, p, std::size_t{1}, p);
        repeat(made.weights, weights, p, p, 0, nullptr, p, p, p, p, p, p, std::size_t{1}, p,
               std::size_t{1}, p, std::size_t{1}, p);
        repeat(made.graph, cuda.cuGraphLaunch, p, p);
        repeat(made.record, cuda.cuEventRecord, p, p);
        repeat(made.synchronize, cuda.cuStreamSynchronize, p);
    }
    return ns_since(start, samples);
}

Settings problem() {
    Settings s;
    s.bias_mode = 2;
    s.aux_flags = 1;
    s.input_size = s.x_vector_size = 8;
    s.hidden_size = s.proj_size = 8;
    s.max_seq_length = 4;
    s.batch_size = 2;
    s.seq_lengths = {4, 4};
    return s;
}

void ready(Plan &plan) {
    for (const char *stage : {"descriptor", "data", "state", "sizes", "build"})
        plan.run(stage);
    plan.allocate();
    for (const char *pass :
         {"forward_inference", "forward_training", "backward_data", "backward_weights"})
        for (const CallRecord &record : plan.run(pass))
            if (record.status != abi::kSuccess) throw CudnnError(record);
    plan.capture(Pass::kForwardInference);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    const std::size_t samples = std::strtoul(argv[3], nullptr, 10);
    const std::size_t rounds = std::strtoul(argv[4], nullptr, 10);
    const Driver driver(argv[1]);
    const Library library(argv[2]);
    Context context(driver, 0);
    char memory[Trace::kBytes];
    Trace trace(memory, sizeof(memory));
    Arena arena(context);
    Handle handle(library, context, trace);
    Plan plan(handle, arena, problem());
    ready(plan);

    // Neither object is const; only what hands them out is.
    Pointers pointers{const_cast<Api &>(library.api()), const_cast<CudaApi &>(driver.api())};
    const Api cudnn = library.api();
    const CudaApi cuda = driver.api();
    empty(pointers);
    for (std::size_t round = 0; round < rounds; ++round)
        for (const Loop &made : kLoops) {
            const Pass pass = pass_named(made.pass);
            const Sampling how = sampling_named(made.mode);
            const double least = bare(pointers, made, samples);
            const auto start = Clock::now();
            const std::vector<double> shown = sample(plan, pass, how, samples);
            const double ours = ns_since(start, samples);
            const double enqueued = how == Sampling::kEnqueue ? median(shown) * 1e9 : 0;
            std::printf("%s %s %u %u %.2f %.2f %.2f\n", made.pass, made.mode, made.of_cudnn(),
                        made.of_cuda(), least, ours, enqueued);
        }
    pointers.cudnn = cudnn;
    pointers.cuda = cuda;
}
