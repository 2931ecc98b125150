// What axis values stand for: sequence lengths, proj_size, doubles, and what reads back.
#include "calls/seq_lengths.hpp"
#include "calls/values.hpp"
#include "check.hpp"

#include <cmath>
#include <stdexcept>

using namespace pyharness;

namespace {

constexpr int kMost = std::numeric_limits<int>::max(), kLeast = std::numeric_limits<int>::min();

std::string lengths(Value which, int max_seq_length, int batch_size) {
    const Grid grid{{}, {{9, 8, 7}, {-1}}};
    SeqLengths made(grid);
    const int *values = made.of(which, max_seq_length, batch_size);
    std::string text;
    for (int i = 0; i < std::max(batch_size, 1); ++i)
        text += (i > 0 ? "," : "") + std::to_string(values[i]);
    return text;
}

void makes_each_pattern() {
    CHECK_EQUAL(lengths(kEqual, 7, 3), "7,7,7");
    CHECK_EQUAL(lengths(kDescending, 7, 4), "7,5,3,1");
    CHECK_EQUAL(lengths(kDescending, 7, 5), "7,6,4,3,1");
    CHECK_EQUAL(lengths(kUnsorted, 7, 4), "1,3,5,7");
    CHECK_EQUAL(lengths(kOneZero, 7, 3), "7,7,0");
    CHECK_EQUAL(lengths(kAllZero, 7, 2), "0,0");
    CHECK_EQUAL(lengths(kTrailingZeros, 7, 4), "7,7,0,0");
    CHECK_EQUAL(lengths(kTrailingZeros, 7, 5), "7,7,0,0,0");
    CHECK_EQUAL(lengths(kOverMax, 7, 3), "8,7,7");
    CHECK_EQUAL(lengths(kNegative, 7, 3), "7,7,-1");
    CHECK_EQUAL(lengths(kLiteralLengths, 7, 3), "9,8,7");
    CHECK_EQUAL(lengths(kLiteralLengths + 1, 7, 1), "-1");
}

void hands_over_no_list_that_is_too_short() {
    bool refused = false;
    try {
        lengths(kLiteralLengths, 7, 4); // the library would read a fourth entry
    } catch (const std::invalid_argument &) {
        refused = true;
    }
    CHECK(refused);
    CHECK_EQUAL(lengths(kLiteralLengths, 7, 2), "9,8"); // a longer one is only read in part
}

void stays_inside_an_int() {
    CHECK_EQUAL(lengths(kOverMax, kMost, 1), "2147483647");
    CHECK_EQUAL(lengths(kDescending, kMost, 3), "2147483647,1073741824,1");
    CHECK_EQUAL(lengths(kDescending, kLeast, 3), "-2147483648,-1073741824,1");
    CHECK_EQUAL(lengths(kEqual, 5, 0), "5");
    CHECK_EQUAL(lengths(kDescending, 5, kLeast), "5");
    CHECK_EQUAL(lengths(kAllZero, 5, -1), "0");
    CHECK_EQUAL(lengths(kTrailingZeros, 5, 1), "0");
}

void makes_it_anew_when_an_argument_changes() {
    const Grid grid{{}, {{4, 4}}};
    SeqLengths made(grid);
    CHECK_EQUAL(made.of(kEqual, 3, 2)[1], 3);
    CHECK_EQUAL(made.of(kNegative, 3, 2)[1], -1);
    CHECK_EQUAL(made.of(kNegative, 5, 2)[0], 5);
    CHECK_EQUAL(made.of(kNegative, 5, 3)[2], -1);
    CHECK_EQUAL(made.of(kLiteralLengths, 5, 2)[1], 4);
    CHECK_EQUAL(made.of(kEqual, 0, 0)[0], 0);
    CHECK(check::throws<std::out_of_range>([&] { made.of(kLiteralLengths + 1, 5, 2); }, ""));
}

void resolves_proj_size() {
    for (const int hidden : {kLeast, -7, -1, 0, 1, 7, 64, kMost}) {
        CHECK_EQUAL(proj_size(kProjSame, hidden), hidden);
        CHECK_EQUAL(proj_size(kProjHalf, hidden), hidden / 2);
        CHECK_EQUAL(proj_size(kProjOver, hidden), hidden == kMost ? kMost : hidden + 1);
        CHECK_EQUAL(proj_size(-3, hidden), -3);
        CHECK_EQUAL(proj_size(kMost, hidden), kMost);
    }
    CHECK_EQUAL(clamp_int(std::int64_t{kMost} + 1), kMost);
    CHECK_EQUAL(clamp_int(std::int64_t{kLeast} - 1), kLeast);
    CHECK_EQUAL(clamp_int(-5), -5);
}

void takes_doubles_bit_by_bit() {
    CHECK_EQUAL(as_real(0), 0.0);
    CHECK(std::signbit(as_real(std::numeric_limits<Value>::min())));
    CHECK_EQUAL(as_real(0x3ff8000000000000), 1.5);
    CHECK(std::isnan(as_real(0x7ff8000000000000)));
    CHECK(std::isinf(as_real(0x7ff0000000000000)));
}

void tells_what_reads_back_otherwise() {
    Readback read;
    read.expect("algo", 1, 1);
    CHECK_EQUAL(read.text(), "");
    read.expect("hidden_size", 8, 9);
    read.expect("aux_flags", 4294967295U, 0U);
    CHECK_EQUAL(read.text(), "hidden_size 8 reads back as 9, aux_flags 4294967295 reads back as 0");
}

} // namespace

int main() {
    makes_each_pattern();
    hands_over_no_list_that_is_too_short();
    stays_inside_an_int();
    makes_it_anew_when_an_argument_changes();
    resolves_proj_size();
    takes_doubles_bit_by_bit();
    tells_what_reads_back_otherwise();
    return check::result();
}
