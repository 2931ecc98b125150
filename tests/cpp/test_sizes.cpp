// Bytes of the tensors by shape and layout, and the trace that a parent reads.
#include "check.hpp"
#include "rnn/sizes.hpp"
#include "rnn/trace.hpp"

#include <limits>
#include <map>

using namespace pyharness;

namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

std::map<std::string, std::size_t> bytes_of(const Settings &settings) {
    const auto listed = tensor_bytes(settings);
    std::map<std::string, std::size_t> bytes(listed.begin(), listed.end());
    CHECK_EQUAL(bytes.size(), listed.size());
    return bytes;
}

Settings small() {
    Settings s;
    s.data_type = kHalf;
    s.direction_mode = kBidirectional;
    s.input_size = s.x_vector_size = 5;
    s.hidden_size = 7;
    s.proj_size = 3;
    s.num_layers = 2;
    s.max_seq_length = 4;
    s.batch_size = 3;
    s.seq_lengths = {4, 2, 0};
    return s;
}

void counts_what_each_tensor_holds() {
    const auto bytes = bytes_of(small());
    CHECK_EQUAL(bytes.size(), 12);
    CHECK_EQUAL(bytes.at("x"), 4 * 3 * 5 * 2);
    CHECK_EQUAL(bytes.at("dx"), bytes.at("x"));
    CHECK_EQUAL(bytes.at("y"), 4 * 3 * (3 * 2) * 2);
    CHECK_EQUAL(bytes.at("dy"), bytes.at("y"));
    for (const char *h : {"hx", "hy", "dhx", "dhy"})
        CHECK_EQUAL(bytes.at(h), (2 * 2) * 3 * 3 * 2);
    for (const char *c : {"cx", "cy", "dcx", "dcy"})
        CHECK_EQUAL(bytes.at(c), (2 * 2) * 3 * 7 * 2);
}

void packs_only_what_is_inside() {
    Settings s = small();
    s.layout = kSeqMajorPacked;
    CHECK_EQUAL(bytes_of(s).at("x"), 6 * 5 * 2);
    CHECK_EQUAL(bytes_of(s).at("y"), 6 * 6 * 2);
    s.layout = kBatchMajorUnpacked;
    CHECK_EQUAL(bytes_of(s).at("x"), 12 * 5 * 2);
    s.x_vector_size = 9; // may be given apart
    CHECK_EQUAL(bytes_of(s).at("x"), 12 * 9 * 2);
}

void has_a_cell_state_for_lstm_alone() {
    Settings s = small();
    s.cell_mode = kRnnTanh;
    CHECK_EQUAL(bytes_of(s).size(), 8);
    CHECK_EQUAL(bytes_of(s).count("cx"), 0);
}

void stays_inside_64_bits() {
    Settings s = small();
    s.data_type = kDouble;
    s.num_layers = s.proj_size = s.hidden_size = s.batch_size = std::numeric_limits<int>::max();
    s.max_seq_length = 65535;
    CHECK_EQUAL(bytes_of(s).at("y"), kMost);
    CHECK_EQUAL(bytes_of(s).at("hx"), kMost);
    s.batch_size = 0;
    CHECK_EQUAL(bytes_of(s).at("y"), 0);
    s.batch_size = -1;
    CHECK_EQUAL(bytes_of(s).at("hx"), 0);
}

void leaves_stage_and_call_for_the_parent() {
    char memory[Trace::kBytes];
    Trace trace(memory, sizeof(memory));
    CHECK(memory[0] == '\0' && memory[1] == '\0');
    trace.stage("backward_data");
    trace.call("cudnnRNNBackwardData_v8");
    CHECK_EQUAL(std::string(memory), "backward_data");
    CHECK_EQUAL(std::string(memory + 14), "cudnnRNNBackwardData_v8");
    trace.call("cudnnRNNForward");
    CHECK_EQUAL(std::string(memory + 14), "cudnnRNNForward");
    trace.stage("close");
    CHECK_EQUAL(std::string(memory), "close");
    CHECK_EQUAL(std::string(memory + 6), "");
    const std::string endless(1000, 'a');
    trace.stage(endless.c_str());
    trace.call(endless.c_str());
    CHECK_EQUAL(memory[Trace::kBytes - 1], '\0');
    CHECK_EQUAL(std::string(memory), std::string(127, 'a'));
    CHECK(check::throws<std::invalid_argument>([&] { Trace small(memory, 255); }, "256"));
}

} // namespace

int main() {
    counts_what_each_tensor_holds();
    packs_only_what_is_inside();
    has_a_cell_state_for_lstm_alone();
    stays_inside_64_bits();
    leaves_stage_and_call_for_the_parent();
    return check::result();
}
