// One problem on the device: its stages in the documented order, then its passes.
#pragma once

#include "cuda/objects.hpp"
#include "rnn/passes.hpp"

#include <map>
#include <optional>

namespace pyharness {

class Plan : public Tenant {
  public:
    // Calls nothing yet.
    Plan(Handle &handle, Arena &arena, Settings settings);
    ~Plan() override { leave(); }

    // Makes every call of a stage: all of them, or as far as the first that is refused, which is
    // the last record. A backward stage is preceded by what it needs if that has not just run.
    // Waits for the device; throws CudaError if that has failed, OutOfMemory if the states of
    // dropout find no room, std::logic_error for a stage out of order.
    std::vector<CallRecord> run(const std::string &stage);

    // After the stage `sizes`; without `training` only what inference needs, which may fit where
    // the rest does not. Throws OutOfMemory, CudnnError if the weights cannot be found.
    void allocate(bool training = true);

    // Names and bytes: of the spaces, by forward mode where they depend on it, and of the tensors.
    std::vector<std::pair<std::string, std::size_t>> sizes() const;
    const std::vector<WeightPart> &weights() const { return weights_; }
    const Settings &settings() const { return settings_; }

    // Throws std::logic_error before allocate() and after close().
    const Buffers &buffers() const;

    // Records a pass as a graph for replay(). The last record names why not, if it cannot be.
    std::vector<CallRecord> capture(Pass pass);

    // Overwrites every byte of a buffer; the workspace as large as it ever is. Waits for it.
    void poison(const std::string &name, unsigned char byte);
    // Sets the states of dropout from the seed again, and waits for it. CudnnError if refused.
    void reseed();
    // Puts so many passes into the stream, each with what it needs, and waits for none.
    void enqueue(Pass pass, std::size_t count);

    // For timed loops; CudnnError for a call that is refused, CudaError for the device.
    void start(Pass pass); // throws std::logic_error before allocate(), or if it took too little
    void prepare(Pass pass) { passes_->prepare(pass, Making::kTimed); }
    void enqueue(Pass pass) { passes_->enqueue(pass, Making::kTimed); }
    const Graph &graph(Pass pass) const; // throws std::logic_error without a capture()
    void replay(const Graph &graph, Pass pass);
    void flush_l2() const { passes_->flush_l2(); }
    Handle &handle() { return handle_; }

    // Gives all back. The first descriptor that could not be destroyed is a CudnnError, after the
    // rest has been.
    void close();
    void leave() noexcept override { end(); }

  private:
    bool run_setup(std::size_t stage);
    bool describe();
    bool build();
    void check_open() const;
    std::optional<CallRecord> end() noexcept;

    Handle &handle_;
    Arena &arena_;
    const Settings settings_;
    bool open_ = true;
    bool trains_ = false; // whether the memory of training was taken
    std::size_t stages_done_ = 0;
    std::size_t dropout_states_bytes_ = 0;
    Descriptors descriptors_;
    Sizes sizes_;
    Buffers buffers_;
    std::vector<WeightPart> weights_;
    std::optional<Passes> passes_;
    std::map<Pass, Graph> graphs_;
};

} // namespace pyharness
