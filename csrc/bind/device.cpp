// The driver, the device, its memory, and the handle of a release on it.
#include "bind/device.hpp"

#include "bind/bind.hpp"
#include "cuda/arena.hpp"
#include "cuda/memory.hpp"
#include "rnn/handle.hpp"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace pyharness {

namespace {

// The Python class of an exception: its arguments are those of the C++ exception, not its text.
template <class Error> py::object &class_of(const char *name = nullptr) {
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> stored;
    return stored
        .call_once_and_store_result([name] {
            const std::string full = std::string("pyharness.device._core.") + name;
            return py::reinterpret_steal<py::object>(
                PyErr_NewException(full.c_str(), PyExc_RuntimeError, nullptr));
        })
        .get_stored();
}

void bind_errors(py::module_ &module) {
    module.attr("CudaError") = class_of<CudaError>("CudaError");
    module.attr("CudnnError") = class_of<CudnnError>("CudnnError");
    module.attr("OutOfMemory") = class_of<OutOfMemory>("OutOfMemory");
    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const CudaError &e) {
            py::set_error(class_of<CudaError>(), py::make_tuple(e.call, e.code, e.name, e.text));
        } catch (const CudnnError &e) {
            const CallRecord &r = e.refused;
            py::set_error(class_of<CudnnError>(), py::make_tuple(r.call, r.status, r.reason));
        } catch (const OutOfMemory &e) {
            py::set_error(class_of<OutOfMemory>(), py::make_tuple(e.asked_bytes, e.free_bytes));
        }
    });
}

py::dict facts(const Context &context) {
    DeviceFacts facts;
    {
        const py::gil_scoped_release release;
        facts = context.facts();
    }
    py::dict dict;
    dict["name"] = facts.name;
    dict["compute_capability"] = facts.compute_capability;
    dict["memory_bytes"] = facts.memory_bytes;
    dict["multiprocessors"] = facts.multiprocessors;
    dict["l2_bytes"] = facts.l2_bytes;
    dict["pci_bus_id"] = facts.pci_bus_id;
    dict["driver_version"] = facts.driver_version;
    return dict;
}

py::dict memory(const Context &context) {
    DeviceMemory memory;
    {
        const py::gil_scoped_release release;
        memory = device_memory(context);
    }
    py::dict dict;
    dict["total_bytes"] = memory.total;
    dict["free_bytes"] = memory.free;
    dict["room_bytes"] = memory.room;
    return dict;
}

} // namespace

// The GIL is released wherever the driver or cuDNN may wait for the device: the worker can then
// still be interrupted, and nothing in there touches Python.
using Released = py::call_guard<py::gil_scoped_release>;

void bind_device(py::module_ &module) {
    bind_errors(module);
    py::class_<Driver>(module, "Driver", "An opened libcuda. It stays open until the process ends.")
        .def(py::init<const std::string &>(), py::arg("path"))
        .def_property_readonly("emulated", &Driver::emulated,
                               "Whether it is the tests' double of a driver.")
        .def_property_readonly("version", &Driver::version,
                               "cuDriverGetVersion(), for example 12080.")
        .def("device_count", &Driver::device_count, Released(), "How many devices there are.");
    // keep_alive throughout: what holds device memory or cuDNN's objects outlives none of what it
    // was made in.
    py::class_<Context>(module, "Device", "A device by its primary context.")
        .def(py::init<const Driver &, int>(), py::arg("driver"), py::arg("ordinal"),
             py::keep_alive<1, 2>(), Released())
        .def("facts", &facts, "What the driver says about the device.")
        .def("free_bytes", &Context::free_bytes, Released(), "Free device memory.")
        .def("memory", &memory,
             "Its memory; small blocks are taken and given back to see more than the driver says.")
        .def("largest_block", &largest_block, Released(),
             "The largest block that can be had, in whole MiB, by taking blocks.")
        .def("synchronize", &Context::synchronize, Released(), "Waits for the device.")
        .def("close", &Context::close, Released(),
             "Closes what still lives on the device, then releases the primary context.");
    py::class_<BoundTrace>(module, "Trace", "The memory shared with the parent: stage and call.")
        .def(py::init<const py::buffer &>(), py::arg("memory"));
    py::class_<Arena>(module, "Arena", "Device memory, reused by one plan after another.")
        .def(py::init<Context &>(), py::arg("device"), py::keep_alive<1, 2>())
        .def_property_readonly("capacity_bytes", &Arena::capacity, "What it holds now.")
        .def("release", &Arena::release, Released(), "Gives the memory back to the device.");
    py::class_<Handle>(module, "Handle", "A handle of cuDNN with a stream of ours.")
        .def(py::init([](const Library &library, Context &device, BoundTrace &trace) {
                 const py::gil_scoped_release release; // cudnnCreate takes up to a second
                 return std::make_unique<Handle>(library, device, trace.trace());
             }),
             py::arg("library"), py::arg("device"), py::arg("trace"), py::keep_alive<1, 2>(),
             py::keep_alive<1, 3>(), py::keep_alive<1, 4>())
        .def("renew_stream", &Handle::renew_stream, Released(), "Goes on with a fresh stream.")
        .def("close", &Handle::close, Released(), "Gives everything back.");
}

} // namespace pyharness
