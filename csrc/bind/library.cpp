#include "shim/library.hpp"
#include "bind/bind.hpp"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace pyharness {

void bind_library(py::module_ &module) {
    py::register_exception<LoadError>(module, "LoadError", PyExc_OSError);
    py::class_<Library>(module, "Library",
                        "One opened libcudnn. It stays open until the process ends.")
        .def(py::init<const std::string &>(), py::arg("path"))
        .def_property_readonly("version", &Library::version,
                               "cudnnGetVersion(), for example 91300.")
        .def("status_name", &Library::status_name, py::arg("status"),
             "The enumerator as the library names it, for example CUDNN_STATUS_BAD_PARAM.")
        .def("has", &Library::has, py::arg("symbol"), "Whether the library has this function.");
}

} // namespace pyharness
