// A cuDNN handle on a stream of ours.
#pragma once

#include "cuda/context.hpp"
#include "cuda/objects.hpp"
#include "rnn/calls.hpp"

#include <memory>
#include <optional>

namespace pyharness {

class Handle : public Tenant {
  public:
    // Throws LoadError if the library lacks a function of the device path, CudnnError if a call is
    // refused: the first place where a release may say that it does not know the device.
    Handle(const Library &library, Context &context, Trace &trace);
    ~Handle() override { leave(); }

    // Goes on with a stream that was just made; waits for the one before. Throws CudnnError if the
    // library does not take it.
    void renew_stream();

    // Gives all back. A refusal is a CudnnError, after the rest has been given back.
    void close();
    void leave() noexcept override { end(); }

    // Throws std::logic_error once it is closed.
    abi::Handle get() const;
    const Stream &stream() const {
        if (!stream_) throw std::logic_error("the handle is closed");
        return *stream_;
    }
    Context &context() const { return context_; }
    const Driver &driver() const { return context_.driver(); }
    const Library &library() const { return library_; }
    Calls &calls() { return calls_; }

  private:
    std::optional<CallRecord> end() noexcept;

    const Library &library_;
    Calls calls_;
    std::unique_ptr<Stream> stream_;
    abi::Handle handle_ = nullptr;
};

} // namespace pyharness
