// The memory that a worker and its parent share for one job.
//
// Everything that a job has found stands here as soon as it is found, so a worker that dies leaves
// its parent what it had, and the cursor names the row that it died on.
// pyharness/engine/board.py reads the same layout.
#pragma once

#include "abi/functions.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace pyharness {

constexpr std::size_t kMaxStatuses = 254;       // codes 0 … 253
constexpr std::uint8_t kTooManyStatuses = 254;  // a status beyond them: no cuDNN has so many
constexpr std::uint8_t kNotRun = 255;           // the row has not been tried
constexpr std::size_t kMaxTexts = 4096;         // text ids 1 … 4096; 0: none
constexpr std::uint16_t kTooManyTexts = 0xffff; // a text that found no place
constexpr std::size_t kTextBytes = 1 << 20;

constexpr std::int64_t kPreparing = -1; // no position is being tried yet

struct BoardHeader {
    std::int64_t cursor; // the position being tried; kPreparing before, the count when all is done
    std::uint32_t status_count;
    std::uint32_t text_count;
    std::uint32_t text_used;
    std::uint32_t reserved;
    std::int32_t statuses[kMaxStatuses];
    char texts[kTextBytes]; // each: uint32 length, bytes
};

class Board {
  public:
    // Lays a board over `bytes` bytes at `memory`, zeroed by its owner. Throws
    // std::invalid_argument if not even one row fits.
    Board(void *memory, std::size_t bytes);

    std::int64_t capacity() const { return capacity_; }
    std::uint8_t *codes() { return codes_; }
    std::uint16_t *text_ids() { return text_ids_; }

    // Marks `count` positions as not run; the cursor stays before the first.
    void start(std::int64_t count);

    // Stored before each call: a crash shows the position that it was on.
    void set_cursor(std::int64_t position) {
        *const_cast<volatile std::int64_t *>(&header_->cursor) = position;
    }

    // The code of a status, made when it is new.
    std::uint8_t code(abi::Status status) {
        if (static_cast<unsigned>(status) >= kTable) return register_status(status);
        std::uint8_t &code = known_codes_[status];
        if (code == kNotRun) code = register_status(status);
        return code;
    }

    // The id of a text, made when it is new; 0 for the empty text.
    std::uint16_t text_id(const std::string &text);

    static std::size_t bytes_for(std::int64_t rows);

  private:
    std::uint8_t register_status(abi::Status status);

    static constexpr unsigned kTable = 8192; // every status of 8.x and 9.x lies below

    BoardHeader *header_;
    std::uint16_t *text_ids_;
    std::uint8_t *codes_;
    std::int64_t capacity_;
    std::uint8_t known_codes_[kTable];
    std::unordered_map<std::string, std::uint16_t> known_texts_;
};

} // namespace pyharness
