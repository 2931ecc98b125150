#include "walk/walk.hpp"

#include "bind/bind.hpp"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace pyharness {

namespace {

// A board over a writable buffer; keeps the buffer alive and mapped.
class BoundBoard {
  public:
    explicit BoundBoard(const py::buffer &memory)
        : info_(memory.request(true)),
          board_(info_.ptr, static_cast<std::size_t>(info_.size * info_.itemsize)) {}
    Board &board() { return board_; }

  private:
    py::buffer_info info_;
    Board board_;
};

Job make_job(const std::string &call, std::vector<std::vector<Value>> axes,
             std::vector<std::vector<int>> literal_lengths) {
    Job job;
    job.call = call;
    job.grid = {std::move(axes), std::move(literal_lengths)};
    return job;
}

void use_rows(Job &job, const py::buffer_info &rows) {
    if (rows.itemsize != sizeof(std::int64_t) || rows.ndim != 1)
        throw std::invalid_argument("rows must be a 1-d buffer of int64");
    job.rows = static_cast<const std::int64_t *>(rows.ptr);
    job.count = rows.size;
}

} // namespace

void bind_walk(py::module_ &module) {
    module.def("call_names", &call_names, "The calls that can be walked, by their C names.");
    module.def("call_axes", &call_axes, py::arg("call"), "The axes of a call, in grid order.");
    module.def("board_bytes", &Board::bytes_for, py::arg("rows"),
               "The size of a board for so many rows.");
    py::class_<BoundBoard>(module, "Board", "The memory shared with the parent for one job.")
        .def(py::init<const py::buffer &>(), py::arg("memory"));
    // The GIL is released for the walk itself: nothing in it touches Python.
    module.def(
        "walk_range",
        [](const Library &library, BoundBoard &board, const std::string &call,
           std::vector<std::vector<Value>> axes, std::vector<std::vector<int>> literal_lengths,
           std::int64_t begin, std::int64_t count, bool explain) {
            Job job = make_job(call, std::move(axes), std::move(literal_lengths));
            job.begin = begin;
            job.count = count;
            job.explain = explain;
            const py::gil_scoped_release release;
            walk(library, board.board(), job);
        },
        py::arg("library"), py::arg("board"), py::arg("call"), py::arg("axes"),
        py::arg("literal_lengths"), py::arg("begin"), py::arg("count"), py::arg("explain"),
        "Tries a run of rows; see csrc/walk/walk.hpp.");
    module.def(
        "walk_rows",
        [](const Library &library, BoundBoard &board, const std::string &call,
           std::vector<std::vector<Value>> axes, std::vector<std::vector<int>> literal_lengths,
           const py::buffer &rows, bool explain) {
            const py::buffer_info info = rows.request();
            Job job = make_job(call, std::move(axes), std::move(literal_lengths));
            use_rows(job, info);
            job.explain = explain;
            const py::gil_scoped_release release;
            walk(library, board.board(), job);
        },
        py::arg("library"), py::arg("board"), py::arg("call"), py::arg("axes"),
        py::arg("literal_lengths"), py::arg("rows"), py::arg("explain"),
        "Tries the given rows; see csrc/walk/walk.hpp.");
    module.def(
        "time_rows",
        [](const Library &library, const std::string &call, std::vector<std::vector<Value>> axes,
           std::vector<std::vector<int>> literal_lengths, const py::buffer &rows,
           unsigned repeats) {
            const py::buffer_info info = rows.request();
            Job job = make_job(call, std::move(axes), std::move(literal_lengths));
            use_rows(job, info);
            const py::gil_scoped_release release;
            return time_rows(library, job, repeats);
        },
        py::arg("library"), py::arg("call"), py::arg("axes"), py::arg("literal_lengths"),
        py::arg("rows"), py::arg("repeats"), "Seconds per call, one sample a repeat.");
}

} // namespace pyharness
