// A problem on the device.
#include "rnn/plan.hpp"

#include "bind/bind.hpp"
#include "measure/sampling.hpp"
#include "rnn/fill.hpp"

#include <pybind11/stl.h>

#include <set>
#include <tuple>

namespace py = pybind11;

namespace pyharness {

namespace {

// Takes settings out of a dictionary by name, and refuses what nobody has taken.
class Reader {
  public:
    explicit Reader(const py::dict &values) : values_(values) {}

    template <class T> void take(const char *name, T &to) {
        if (!values_.contains(name)) throw py::key_error(name);
        taken_.insert(name);
        const py::object value = values_[name];
        // An enumerator may be any 32-bit integer, whatever its sign.
        if constexpr (std::is_integral_v<T> && sizeof(T) <= 4)
            to = static_cast<T>(value.cast<std::int64_t>());
        else to = value.cast<T>();
    }
    bool has(const char *name) const { return values_.contains(name); }
    bool choice(const char *name) {
        int value = 0;
        take(name, value);
        return value != 0;
    }
    void finish() const {
        for (const auto &[name, value] : values_)
            if (taken_.count(name.cast<std::string>()) == 0)
                throw py::value_error("no setting is called " + name.cast<std::string>());
    }

  private:
    const py::dict &values_;
    std::set<std::string> taken_;
};

Settings read_settings(const py::dict &values) {
    Settings s;
    Reader reader(values);
    reader.take("algo", s.algo);
    reader.take("cell_mode", s.cell_mode);
    reader.take("bias_mode", s.bias_mode);
    reader.take("direction_mode", s.direction_mode);
    reader.take("input_mode", s.input_mode);
    reader.take("data_type", s.data_type);
    reader.take("math_prec", s.math_prec);
    reader.take("math_type", s.math_type);
    reader.take("input_size", s.input_size);
    reader.take("hidden_size", s.hidden_size);
    reader.take("proj_size", s.proj_size);
    reader.take("num_layers", s.num_layers);
    reader.take("aux_flags", s.aux_flags);
    s.clip = reader.choice("clip");
    if (s.clip) {
        reader.take("clip_mode", s.clip_mode);
        reader.take("clip_nan_opt", s.clip_nan_opt);
        reader.take("lclip", s.lclip);
        reader.take("rclip", s.rclip);
    }
    reader.take("layout", s.layout);
    reader.take("max_seq_length", s.max_seq_length);
    reader.take("batch_size", s.batch_size);
    reader.take("seq_lengths", s.seq_lengths);
    s.padding_fill = reader.choice("padding_fill");
    s.x_vector_size = s.input_size;
    if (reader.has("x_vector_size")) reader.take("x_vector_size", s.x_vector_size);
    s.dropout = reader.choice("dropout");
    reader.take("dropout_rate", s.dropout_rate);
    int dev_seq_lengths = 0;
    reader.take("dev_seq_lengths", dev_seq_lengths);
    if (dev_seq_lengths < 0 || dev_seq_lengths > 2)
        throw py::value_error("dev_seq_lengths is 0, 1 or 2");
    s.dev_seq_lengths = static_cast<DevSeqLengths>(dev_seq_lengths);
    s.initial_states = !reader.choice("initial_states");
    reader.take("seed", s.seed);
    if (reader.has("alignment")) reader.take("alignment", s.alignment);
    if (s.alignment >= Carving::kAlignment || s.alignment % 16 != 0)
        throw py::value_error("alignment is a multiple of 16 below 256");
    reader.finish();
    // The library reads batch_size entries, whatever there is.
    const auto batch = static_cast<std::size_t>(std::max(s.batch_size, 0));
    if (s.seq_lengths.size() < batch)
        throw py::value_error("a list of lengths is shorter than its batch");
    s.seq_lengths.resize(batch);
    return s;
}

using Records = std::vector<std::tuple<std::string, int, std::string>>;

Records as_tuples(const std::vector<CallRecord> &records) {
    Records tuples;
    for (const CallRecord &record : records)
        tuples.emplace_back(record.call, record.status, record.reason);
    return tuples;
}

std::vector<std::tuple<std::string, int, int, std::string, int, int, std::size_t>>
weights(const Plan &plan) {
    std::vector<std::tuple<std::string, int, int, std::string, int, int, std::size_t>> all;
    for (const WeightPart &p : plan.weights())
        all.emplace_back(p.name, p.pseudo_layer, p.lin_layer_id, p.matrix ? "matrix" : "bias",
                         p.rows, p.cols, p.offset);
    return all;
}

py::bytes read(const Plan &plan, const std::string &name) {
    const std::size_t size = plan.buffers().find(name).bytes;
    py::bytes bytes(nullptr, size);
    char *to = PyBytes_AS_STRING(bytes.ptr());
    const py::gil_scoped_release release;
    plan.buffers().read(name, 0, to, size);
    return bytes;
}

void read_part(const Plan &plan, const std::string &name, std::size_t begin, const py::buffer &to) {
    const py::buffer_info part = to.request(true);
    if (!PyBuffer_IsContiguous(part.view(), 'C')) throw std::invalid_argument("a part has gaps");
    const auto bytes = static_cast<std::size_t>(part.size * part.itemsize);
    const py::gil_scoped_release release;
    plan.buffers().read(name, begin, part.ptr, bytes);
}

void write(const Plan &plan, const std::string &name, const py::bytes &data) {
    const auto view = static_cast<std::string_view>(data);
    const py::gil_scoped_release release;
    plan.buffers().write(name, view.data(), view.size());
}

// A buffer as CuPy and torch take it. The address is looked up each time: a plan may be closed.
struct DeviceBuffer {
    Plan &plan;
    std::string name;

    std::pair<const char *, std::size_t> type() const {
        static const std::set<std::string> kBytes = {"workspace", "reserve_space", "l2_flush",
                                                     "dropout_states"};
        if (kBytes.count(name) != 0) return {"|u1", 1};
        if (name == "dev_seq_lengths") return {"<i4", 4};
        switch (plan.settings().data_type) {
        case kFloat: return {"<f4", 4};
        case kHalf: return {"<f2", 2};
        case kBfloat16: return {"<u2", 2}; // the protocol has no name for it: its bits
        default: return {"<f8", 8};
        }
    }
    py::dict interface() const {
        const Buffers &buffers = plan.buffers();
        const auto [typestr, width] = type();
        py::dict dict;
        dict["shape"] = py::make_tuple(buffers.find(name).bytes / width);
        dict["typestr"] = typestr;
        dict["data"] = py::make_tuple(buffers.address(name), false);
        dict["version"] = 3;
        dict["strides"] = py::none();
        dict["stream"] = reinterpret_cast<std::uintptr_t>(plan.handle().stream().get());
        return dict;
    }
};

} // namespace

// The GIL is released wherever cuDNN works or the device is waited for: nothing in there touches
// Python.
using Released = py::call_guard<py::gil_scoped_release>;

void bind_plan(py::module_ &module) {
    py::class_<DeviceBuffer>(module, "DeviceBuffer", "One of a plan's buffers.")
        .def_property_readonly("__cuda_array_interface__", &DeviceBuffer::interface);
    py::class_<Plan>(module, "Plan", "A problem on the device; see csrc/rnn/plan.hpp.")
        .def(py::init([](Handle &handle, Arena &arena, const py::dict &settings) {
                 return std::make_unique<Plan>(handle, arena, read_settings(settings));
             }),
             py::arg("handle"), py::arg("arena"), py::arg("settings"), py::keep_alive<1, 2>(),
             py::keep_alive<1, 3>())
        .def(
            "run", [](Plan &plan, const std::string &stage) { return as_tuples(plan.run(stage)); },
            py::arg("stage"), Released(), "Every call of a stage: C name, status, reason.")
        .def(
            "sizes",
            [](const Plan &plan) {
                py::dict dict;
                for (const auto &[name, bytes] : plan.sizes())
                    dict[py::str(name)] = bytes;
                return dict;
            },
            "Bytes of the spaces and the tensors, by name.")
        .def(
            "allocate", [](Plan &plan) { plan.allocate(); }, Released(),
            "Takes the memory and fills it from the seed.")
        .def(
            "allocate_inference", [](Plan &plan) { plan.allocate(false); }, Released(),
            "Takes the memory of inference alone.")
        .def("weights", &weights,
             "name, pseudo_layer, lin_layer_id, matrix or bias, rows, cols, byte offset.")
        .def(
            "broken_guards", [](const Plan &plan) { return plan.buffers().broken_guards(); },
            Released(), "What was written beside the buffers; empty if nothing was.")
        .def(
            "names", [](const Plan &plan) { return plan.buffers().names(); },
            "The names of the buffers.")
        .def(
            "bytes_of",
            [](const Plan &plan, const std::string &name) {
                return plan.buffers().find(name).bytes;
            },
            py::arg("name"), "How many bytes a buffer has.")
        .def("read", &read, py::arg("name"), "A buffer's bytes.")
        .def("read_part", &read_part, py::arg("name"), py::arg("begin"), py::arg("to"),
             "Copies a buffer's bytes from `begin` on into memory that can be written.")
        .def("write", &write, py::arg("name"), py::arg("data"), "Overwrites a buffer.")
        .def(
            "poison",
            [](Plan &plan, const std::string &name, int byte) {
                if (byte < 0 || byte > 255) throw std::invalid_argument("a byte is 0 to 255");
                plan.poison(name, static_cast<unsigned char>(byte));
            },
            py::arg("name"), py::arg("byte"), Released(), "Overwrites every byte of a buffer.")
        .def("reseed", &Plan::reseed, Released(), "Sets the states of dropout as at first.")
        .def(
            "enqueue",
            [](Plan &plan, const std::string &pass_name, std::size_t count) {
                plan.enqueue(pass_named(pass_name), count);
            },
            py::arg("pass_name"), py::arg("count"), Released(),
            "Puts passes into the stream and waits for none.")
        .def(
            "buffer",
            [](Plan &plan, const std::string &name) {
                plan.buffers().find(name); // refused here, not when it is used
                return std::make_unique<DeviceBuffer>(DeviceBuffer{plan, name});
            },
            py::arg("name"), py::keep_alive<0, 1>(), "A buffer for CuPy or torch.")
        .def(
            "capture",
            [](Plan &plan, const std::string &pass_name) {
                return as_tuples(plan.capture(pass_named(pass_name)));
            },
            py::arg("pass_name"), Released(), "Records a graph of a pass; the last says why not.")
        .def(
            "sample",
            [](Plan &plan, const std::string &pass_name, const std::string &mode,
               std::size_t count) {
                return sample(plan, pass_named(pass_name), sampling_named(mode), count);
            },
            py::arg("pass_name"), py::arg("mode"), py::arg("count"), Released(),
            "Seconds of each execution.")
        .def("close", &Plan::close, Released(), "Gives everything back.");
}

} // namespace pyharness
