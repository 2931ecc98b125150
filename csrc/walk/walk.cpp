#include "walk/walk.hpp"

#include "calls/rnn_clip.hpp"
#include "calls/rnn_data.hpp"
#include "calls/rnn_descriptor.hpp"
#include "calls/tensor_nd.hpp"
#include "walk/reasons.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

namespace pyharness {

namespace {

// Calls `visit` with the call type of a C name. The one place where names meet types.
template <class Visit> auto with_call(const std::string &name, Visit &&visit) {
    if (name == "cudnnSetRNNDescriptor_v8") return visit(static_cast<RnnDescriptorCall *>(nullptr));
    if (name == "cudnnRNNSetClip_v8") return visit(static_cast<RnnClipV8Call *>(nullptr));
    if (name == "cudnnRNNSetClip_v9") return visit(static_cast<RnnClipV9Call *>(nullptr));
    if (name == "cudnnSetRNNDataDescriptor") return visit(static_cast<RnnDataCall *>(nullptr));
    if (name == "cudnnSetTensorNdDescriptor") return visit(static_cast<TensorNdCall *>(nullptr));
    throw std::invalid_argument("no such call: " + name);
}

// The loop that the whole product rests on: nothing in it but the call, its arguments and two
// stores.
template <class Call> void walk_range(Call &call, Board &board, const Job &job) {
    std::uint8_t *codes = board.codes();
    Odometer odometer(job.grid, job.begin);
    for (std::int64_t p = 0; p < job.count; ++p, odometer.next()) {
        board.set_cursor(p);
        codes[p] = board.code(call(odometer.values()));
    }
}

template <class Call>
void explain_row(Call &call, Board &board, const Value *values, std::int64_t p,
                 ReasonCapture &capture) {
    capture.clear();
    const abi::Status status = call(values);
    std::string text;
    if (status != abi::kSuccess) text = capture.take();
    else if constexpr (Call::reads_back) text = call.readback(values);
    board.text_ids()[p] = board.text_id(text);
    board.codes()[p] = board.code(status);
}

template <class Call> void walk_with(const Library &library, Board &board, const Job &job) {
    board.start(job.count);
    Call call(library.api(), job.grid);
    if (!job.explain && job.rows == nullptr) {
        walk_range(call, board, job);
    } else {
        std::unique_ptr<ReasonCapture> capture;
        if (job.explain) capture = std::make_unique<ReasonCapture>(library.api());
        Odometer odometer(job.grid, 0);
        for (std::int64_t p = 0; p < job.count; ++p) {
            odometer.seek(job.rows != nullptr ? job.rows[p] : job.begin + p);
            board.set_cursor(p);
            if (capture) explain_row(call, board, odometer.values(), p, *capture);
            else board.codes()[p] = board.code(call(odometer.values()));
        }
    }
    board.set_cursor(job.count);
}

template <class Call>
std::vector<double> time_with(const Library &library, const Job &job, unsigned repeats) {
    Call call(library.api(), job.grid);
    // The rows are laid out flat, so that the loop reads memory in order and steps no odometer.
    const std::size_t width = job.grid.axes.size();
    std::vector<Value> values;
    values.reserve(static_cast<std::size_t>(job.count) * width);
    Odometer odometer(job.grid, 0);
    for (std::int64_t i = 0; i < job.count; ++i) {
        odometer.seek(job.rows[i]);
        values.insert(values.end(), odometer.values(), odometer.values() + width);
    }
    std::vector<double> samples;
    volatile abi::Status sink = 0;
    for (unsigned r = 0; r < repeats; ++r) {
        const auto start = std::chrono::steady_clock::now();
        for (const Value *v = values.data(); v != values.data() + values.size(); v += width)
            sink = call(v);
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        samples.push_back(spent.count() / static_cast<double>(job.count));
    }
    static_cast<void>(sink);
    return samples;
}

void check(const Library &library, const Job &job) {
    const auto axes = call_axes(job.call);
    if (axes.size() != job.grid.axes.size())
        throw std::invalid_argument(job.call + " has " + std::to_string(axes.size()) +
                                    " axes, not " + std::to_string(job.grid.axes.size()));
    if (!library.has(job.call)) throw std::invalid_argument("the library has no " + job.call);
    const std::int64_t size = job.grid.size();
    if (job.rows == nullptr) {
        if (job.begin < 0 || job.count < 1 || job.count > size - job.begin)
            throw std::out_of_range("rows outside the grid");
    } else if (!std::all_of(job.rows, job.rows + job.count,
                            [size](std::int64_t row) { return row >= 0 && row < size; })) {
        throw std::out_of_range("a row outside the grid");
    }
}

} // namespace

std::vector<std::string> call_names() {
    return {"cudnnSetRNNDescriptor_v8", "cudnnRNNSetClip_v8", "cudnnRNNSetClip_v9",
            "cudnnSetRNNDataDescriptor", "cudnnSetTensorNdDescriptor"};
}

std::vector<std::string> call_axes(const std::string &name) {
    return with_call(name, [](auto *call) {
        using Call = std::remove_pointer_t<decltype(call)>;
        return std::vector<std::string>(std::begin(Call::axis_names), std::end(Call::axis_names));
    });
}

void walk(const Library &library, Board &board, const Job &job) {
    check(library, job);
    with_call(job.call, [&](auto *call) {
        walk_with<std::remove_pointer_t<decltype(call)>>(library, board, job);
    });
}

std::vector<double> time_rows(const Library &library, const Job &job, unsigned repeats) {
    check(library, job);
    return with_call(job.call, [&](auto *call) {
        return time_with<std::remove_pointer_t<decltype(call)>>(library, job, repeats);
    });
}

} // namespace pyharness
