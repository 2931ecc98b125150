// Streams, events and graphs that end with their scope.
#pragma once

#include "cuda/driver.hpp"

#include <utility>

namespace pyharness {

class Stream {
  public:
    // Not bound to the default stream, so that another library's work in the process holds nothing
    // up.
    explicit Stream(const Driver &driver) : driver_(driver) {
        PYHARNESS_CUDA(driver_, cuStreamCreate)(&stream_, abi::kStreamNonBlocking);
    }
    ~Stream() { driver_.api().cuStreamDestroy_v2(stream_); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    abi::CuStream get() const { return stream_; }
    void synchronize() const { PYHARNESS_CUDA(driver_, cuStreamSynchronize)(stream_); }
    void fill(abi::CuPointer to, unsigned char byte, std::size_t bytes) const {
        PYHARNESS_CUDA(driver_, cuMemsetD8Async)(to, byte, bytes, stream_);
    }
    // Between these two, work is recorded and not run. Only what this thread does can spoil it.
    void begin_capture() const {
        PYHARNESS_CUDA(driver_, cuStreamBeginCapture_v2)(stream_, abi::kCaptureThreadLocal);
    }
    abi::CuGraph end_capture() const {
        abi::CuGraph graph = nullptr;
        PYHARNESS_CUDA(driver_, cuStreamEndCapture)(stream_, &graph);
        return graph;
    }

  private:
    const Driver &driver_;
    abi::CuStream stream_ = nullptr;
};

class Event {
  public:
    explicit Event(const Driver &driver) : driver_(&driver) {
        PYHARNESS_CUDA(*driver_, cuEventCreate)(&event_, 0U);
    }
    ~Event() {
        if (event_ != nullptr) driver_->api().cuEventDestroy_v2(event_);
    }
    Event(Event &&other) noexcept
        : driver_(other.driver_), event_(std::exchange(other.event_, nullptr)) {}
    Event &operator=(Event &&) = delete;

    void record(abi::CuStream stream) const {
        PYHARNESS_CUDA(*driver_, cuEventRecord)(event_, stream);
    }
    void synchronize() const { PYHARNESS_CUDA(*driver_, cuEventSynchronize)(event_); }
    // Both events must have happened.
    double seconds_since(const Event &earlier) const {
        float milliseconds = 0;
        PYHARNESS_CUDA(*driver_, cuEventElapsedTime)(&milliseconds, earlier.event_, event_);
        return static_cast<double>(milliseconds) * 1e-3;
    }

  private:
    const Driver *driver_;
    abi::CuEvent event_ = nullptr;
};

// An instantiated graph, made from what a stream captured.
class Graph {
  public:
    // Takes `captured` over, whether it can be instantiated or not.
    Graph(const Driver &driver, abi::CuGraph captured) : driver_(driver) {
        const abi::CuResult result =
            driver_.api().cuGraphInstantiateWithFlags(&exec_, captured, 0ULL);
        driver_.api().cuGraphDestroy(captured);
        if (result != abi::kCudaSuccess) throw driver_.error("cuGraphInstantiateWithFlags", result);
    }
    ~Graph() { driver_.api().cuGraphExecDestroy(exec_); }
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;

    void launch(abi::CuStream stream) const {
        PYHARNESS_CUDA(driver_, cuGraphLaunch)(exec_, stream);
    }

  private:
    const Driver &driver_;
    abi::CuGraphExec exec_ = nullptr;
};

} // namespace pyharness
