// The fake library, opened and walked: every call, ranges and chosen rows, with reasons and
// without.
#include "calls/values.hpp"
#include "check.hpp"
#include "walk/walk.hpp"

#include <memory>

using namespace pyharness;

namespace {

struct Walked {
    std::vector<int> statuses;
    std::vector<std::string> texts;
    std::int64_t cursor;
};

Walked walked(const Library &library, const Job &job) {
    const std::size_t bytes = Board::bytes_for(job.count);
    const std::unique_ptr<char[]> memory(new char[bytes]());
    Board board(memory.get(), bytes);
    walk(library, board, job);
    const auto &header = *reinterpret_cast<BoardHeader *>(memory.get());
    std::vector<std::string> known{""};
    for (const char *at = header.texts; known.size() <= header.text_count;) {
        std::uint32_t length;
        std::memcpy(&length, at, sizeof(length));
        known.emplace_back(at + sizeof(length), length);
        at += sizeof(length) + length;
    }
    Walked result{{}, {}, header.cursor};
    for (std::int64_t i = 0; i < job.count; ++i) {
        result.statuses.push_back(header.statuses[board.codes()[i]]);
        result.texts.push_back(known.at(board.text_ids()[i]));
    }
    return result;
}

Job descriptor_job() {
    Job job;
    job.call = "cudnnSetRNNDescriptor_v8";
    // hidden_size -1, 8; proj_size the same, one more; num_layers 0, 1
    job.grid = {
        {{0}, {2}, {2}, {0}, {0}, {0}, {0}, {0}, {4}, {-1, 8}, {kProjSame, 9}, {0, 1}, {1}, {1}},
        {}};
    job.count = job.grid.size();
    return job;
}

const std::vector<int> kStatuses = {2000, 2000, 2000, 2000, 2000, 0, 2000, 3000};
const std::vector<std::string> kTexts = {"hiddenSize < 1",
                                         "hiddenSize < 1",
                                         "hiddenSize < 1",
                                         "hiddenSize < 1",
                                         "numLayers < 1 with algo 0",
                                         "",
                                         "numLayers < 1 with algo 0",
                                         "projSize > hiddenSize"};

void walks_ranges_and_rows(const Library &library) {
    Job job = descriptor_job();
    CHECK(walked(library, job).statuses == kStatuses);
    CHECK_EQUAL(walked(library, job).cursor, job.count);
    job.begin = 5;
    job.count = 2;
    CHECK((walked(library, job).statuses == std::vector<int>{0, 2000}));
    job.explain = true;
    CHECK((walked(library, job).texts == std::vector<std::string>{"", kTexts[6]}));
    const std::vector<std::int64_t> rows = {7, 0, 5, 5, 4};
    job.rows = rows.data();
    job.count = 5;
    const Walked chosen = walked(library, job);
    CHECK((chosen.statuses == std::vector<int>{3000, 2000, 0, 0, 2000}));
    for (std::size_t i = 0; i < rows.size(); ++i)
        CHECK_EQUAL(chosen.texts[i], kTexts[static_cast<std::size_t>(rows[i])]);
    job.explain = false;
    CHECK(walked(library, job).statuses == chosen.statuses);
    CHECK_EQUAL(walked(library, job).texts[0], "");
}

void refuses_what_is_not_there(const Library &library) {
    const auto refused = [&](const Job &job, const std::string &words) {
        const std::size_t bytes = Board::bytes_for(100);
        const std::unique_ptr<char[]> memory(new char[bytes]());
        Board board(memory.get(), bytes);
        return check::throws<std::logic_error>([&] { walk(library, board, job); }, words);
    };
    Job job = descriptor_job();
    for (const auto &[begin, count] : {std::pair{-1, 1}, {0, 9}, {8, 1}, {0, 0}, {0, -1}}) {
        job.begin = begin;
        job.count = count;
        CHECK(refused(job, "rows outside the grid"));
    }
    const std::vector<std::int64_t> outside = {0, 8};
    job.rows = outside.data();
    job.count = 2;
    CHECK(refused(job, "a row outside the grid"));
    job = descriptor_job();
    job.grid.axes.pop_back();
    CHECK(refused(job, "has 14 axes, not 13"));
    job.call = "cudnnRNNForward";
    CHECK(refused(job, "no such call"));
    CHECK(check::throws<std::invalid_argument>([] { call_axes("cudnnRNNForward"); }, "no such"));
}

void walks_every_call(const Library &library) {
    for (const std::string &call : call_names()) {
        Job job;
        job.call = call;
        for (const std::string &axis : call_axes(call)) // whatever it means: it must not do harm
            job.grid.axes.push_back(axis == "cell_mode" ? std::vector<Value>{0, 3}
                                                        : std::vector<Value>{1, 3});
        job.count = job.grid.size();
        const Walked plain = walked(library, job);
        job.explain = true;
        CHECK(walked(library, job).statuses == plain.statuses);
        CHECK_EQUAL(walked(library, job).cursor, job.count);
    }
}

void times_what_it_is_given(const Library &library) {
    Job job = descriptor_job();
    const std::vector<std::int64_t> rows = {1, 5, 7};
    job.rows = rows.data();
    job.count = 3;
    const std::vector<double> samples = time_rows(library, job, 4);
    CHECK_EQUAL(samples.size(), std::size_t{4});
    for (const double seconds : samples)
        CHECK(seconds > 0 && seconds < 60);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const Library library(argv[1]);
    CHECK_EQUAL(library.version(), std::size_t{91300});
    CHECK_EQUAL(library.status_name(2000), "CUDNN_STATUS_BAD_PARAM");
    CHECK_EQUAL(library.status_name(-5), "");
    CHECK(library.has("cudnnRNNSetClip_v9"));
    CHECK(!library.has("cudnnRNNForward"));
    CHECK(check::throws<LoadError>([] { Library("/nowhere/libcudnn.so.9"); }, "/nowhere"));
    CHECK(check::throws<LoadError>([] { Library("libm.so.6"); }, "has no cudnnGetVersion, "));
    walks_ranges_and_rows(library);
    refuses_what_is_not_there(library);
    walks_every_call(library);
    times_what_it_is_given(library);
    return check::result();
}
