#pragma once

#include <pybind11/pybind11.h>

namespace pyharness {

void bind_build(pybind11::module_ &module);
void bind_device(pybind11::module_ &module);
void bind_library(pybind11::module_ &module);
void bind_plan(pybind11::module_ &module);
void bind_walk(pybind11::module_ &module);

} // namespace pyharness
