// Whole plans on the emulated libraries, for the sanitizers: every stage and way of sampling, and
// what is left behind when something fails on the way. tests/device compares the numbers.
#include "check.hpp"
#include "measure/sampling.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace pyharness;

namespace {

struct Paths {
    std::string cuda, cudnn, host;
};

Settings small() {
    Settings s;
    s.bias_mode = 2;
    s.data_type = s.math_prec = kDouble;
    s.aux_flags = 1;
    s.input_size = s.x_vector_size = 5;
    s.hidden_size = s.proj_size = 4;
    s.num_layers = 2;
    s.max_seq_length = 3;
    s.batch_size = 2;
    s.seq_lengths = {3, 2};
    s.padding_fill = true;
    s.dropout = true;
    s.dropout_rate = 0.25F;
    return s;
}

std::vector<Settings> problems() {
    std::vector<Settings> all;
    for (int cell = 0; cell < 4; ++cell)
        for (const int type : {kFloat, kDouble, kHalf, kBfloat16})
            for (int layout = 0; layout < 3; ++layout) {
                Settings s = small();
                s.cell_mode = cell;
                s.data_type = type;
                s.math_prec = type == kDouble ? kDouble : kFloat;
                s.layout = layout;
                s.direction_mode = layout == kSeqMajorPacked ? kBidirectional : 0;
                if (cell == kLstm && type == kFloat) s.proj_size = 3;
                all.push_back(s);
            }
    Settings dynamic = small();
    dynamic.algo = kPersistDynamic;
    dynamic.initial_states = false;
    dynamic.dropout = false;
    dynamic.dev_seq_lengths = DevSeqLengths::kGiven;
    all.push_back(dynamic);
    return all;
}

constexpr const char *kStages[] = {"descriptor", "data", "state", "sizes", "build"};

bool all_good(const std::vector<CallRecord> &records) {
    return records.empty() || records.back().status == abi::kSuccess;
}

// False if a call was refused.
bool go_all_the_way(Plan &plan, bool sampled) {
    for (const char *stage : kStages)
        if (!all_good(plan.run(stage))) return false;
    plan.allocate();
    bool good = true;
    for (std::size_t p = 0; p + 1 < kPassNames.size(); ++p)
        good = good && all_good(plan.run(kPassNames[p])) && plan.buffers().broken_guards().empty();
    for (std::size_t p = 0; good && sampled && p < kPassNames.size(); ++p) {
        const auto pass = static_cast<Pass>(p);
        good = all_good(plan.capture(pass));
        if (!good) break;
        for (const Sampling how : {Sampling::kHot, Sampling::kCold, Sampling::kGraph})
            for (const double seconds : sample(plan, pass, how, 3))
                CHECK(seconds > 19.9e-6 && seconds < 61e-6); // 20 us a pass
        CHECK_EQUAL(sample(plan, pass, Sampling::kEnqueue, 2).size(), 2);
    }
    return good && plan.buffers().broken_guards().empty();
}

void passes_every_problem(const Paths &paths) {
    const Driver driver(paths.cuda);
    const Library library(paths.cudnn);
    Context context(driver, 0);
    const std::size_t free = context.free_bytes();
    char memory[Trace::kBytes];
    Trace trace(memory, sizeof(memory));
    {
        Arena arena(context);
        Handle handle(library, context, trace);
        for (const Settings &settings : problems()) {
            Plan plan(handle, arena, settings);
            CHECK(go_all_the_way(plan, true));
            plan.close();
        }
        Plan forgotten(handle, arena, small()); // the destructors see to it
        CHECK(go_all_the_way(forgotten, false));
    }
    CHECK_EQUAL(context.free_bytes(), free);
}

// Whether a fault is noticed, as a refusal or an exception, and all memory given back.
bool notices(const Paths &paths) {
    const Driver driver(paths.cuda);
    const Library library(paths.cudnn);
    char memory[Trace::kBytes];
    Trace trace(memory, sizeof(memory));
    bool noticed = false;
    Context context(driver, 0);
    const std::size_t free = context.free_bytes();
    try {
        Arena arena(context);
        Handle handle(library, context, trace);
        Plan plan(handle, arena, small());
        noticed = !go_all_the_way(plan, true);
        plan.close();
    } catch (const CudaError &error) {
        if (error.code == abi::kCudaIllegalAddress) return true; // nothing can be asked any more
        noticed = true;
    } catch (const CudnnError &) {
        noticed = true;
    } catch (const OutOfMemory &) {
        noticed = true;
    }
    return noticed && context.free_bytes() == free;
}

// Below 8.9.1 the array of lengths on the device is needed, and the rule gives it.
bool follows_the_rule(const Paths &paths) {
    const Driver driver(paths.cuda);
    const Library library(paths.cudnn);
    Context context(driver, 0);
    char memory[Trace::kBytes];
    Trace trace(memory, sizeof(memory));
    Arena arena(context);
    Handle handle(library, context, trace);
    const auto passes = [&](DevSeqLengths given) {
        Settings settings = small();
        settings.dev_seq_lengths = given;
        Plan plan(handle, arena, settings);
        return go_all_the_way(plan, false);
    };
    CHECK_EQUAL(library.version(), 8900);
    CHECK(passes(DevSeqLengths::kRule));
    CHECK(passes(DevSeqLengths::kGiven));
    CHECK(!passes(DevSeqLengths::kNull));
    return check::failures == 0;
}

// Each in a process of its own, which ends as it would: the sanitizers have their say.
template <class Test> void apart(const char *what, Test &&test) {
    const pid_t child = fork();
    if (child == 0) std::exit(test() ? 0 : 3);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::cerr << what << ":\n";
    CHECK_EQUAL(status, 0);
}

void gives_all_back_after(const char *fault, const Paths &paths) {
    apart(fault, [&] {
        const std::string settings = std::getenv("PYHARNESS_EMULATOR");
        setenv("PYHARNESS_EMULATOR", (settings + ";fault=" + fault).c_str(), 1);
        return notices(paths);
    });
}

} // namespace

int main(int, char **argv) {
    const Paths paths{argv[1], argv[2], argv[3]};
    const std::string report = "plan_report_" + std::to_string(getpid());
    setenv("PYHARNESS_EMULATOR_REPORT", report.c_str(), 1);
    setenv("PYHARNESS_EMULATOR", ("l2_bytes=65536;cudnn=" + paths.host).c_str(), 1);
    for (const char *fault :
         {"oom@cuMemAlloc_v2", "oom@cuMemAlloc_v2:2", "status:BAD_PARAM@cudnnSetStream",
          "status:ARCH_MISMATCH@cudnnCreate", "status:BAD_PARAM@cudnnSetDropoutDescriptor",
          "status:NOT_SUPPORTED@cudnnSetRNNDataDescriptor:2",
          "status:INTERNAL_ERROR@cudnnGetRNNWeightParams:4",
          "status:EXECUTION_FAILED@cudnnRNNForward", "status:EXECUTION_FAILED@cudnnRNNForward:9",
          "status:INTERNAL_ERROR@cudnnRNNBackwardWeights_v8",
          "overrun:dw@cudnnRNNBackwardWeights_v8", "uncapturable@cudnnRNNForward:*",
          "status:2@cuEventCreate:5", "status:2@cuStreamCreate",
          "status:1@cuGraphInstantiateWithFlags", "status:1@cuMemsetD8Async:3",
          "sticky@cudnnRNNBackwardData_v8", "sticky@cudnnRNNForward:7"})
        gives_all_back_after(fault, paths);
    apart("a release before 8.9.1", [&] {
        unsetenv("PYHARNESS_EMULATOR_REPORT"); // a null array is against the rules
        setenv("FAKE_CUDNN_VERSION", "8900", 1);
        return follows_the_rule(paths);
    });
    passes_every_problem(paths);
    std::ifstream violations(report);
    std::string line;
    while (std::getline(violations, line)) {
        std::cerr << line << '\n';
        CHECK(line.empty());
    }
    std::remove(report.c_str());
    return check::result();
}
