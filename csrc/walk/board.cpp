#include "walk/board.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace pyharness {

Board::Board(void *memory, std::size_t bytes) {
    if (bytes < bytes_for(1)) throw std::invalid_argument("a board too small for one row");
    capacity_ = static_cast<std::int64_t>((bytes - sizeof(BoardHeader)) /
                                          (sizeof(std::uint16_t) + sizeof(std::uint8_t)));
    header_ = static_cast<BoardHeader *>(memory);
    text_ids_ = reinterpret_cast<std::uint16_t *>(header_ + 1);
    codes_ = reinterpret_cast<std::uint8_t *>(text_ids_ + capacity_);
    std::fill(std::begin(known_codes_), std::end(known_codes_), kNotRun);
}

std::size_t Board::bytes_for(std::int64_t rows) {
    return sizeof(BoardHeader) +
           static_cast<std::size_t>(rows) * (sizeof(std::uint16_t) + sizeof(std::uint8_t));
}

void Board::start(std::int64_t count) {
    if (count > capacity_) throw std::out_of_range("more rows than the board holds");
    std::fill_n(codes_, count, kNotRun);
    std::fill_n(text_ids_, count, std::uint16_t{0});
    set_cursor(kPreparing);
}

std::uint8_t Board::register_status(abi::Status status) {
    for (std::uint32_t i = 0; i < header_->status_count; ++i)
        if (header_->statuses[i] == status) return static_cast<std::uint8_t>(i);
    if (header_->status_count >= kMaxStatuses) return kTooManyStatuses;
    header_->statuses[header_->status_count] = status;
    return static_cast<std::uint8_t>(header_->status_count++);
}

std::uint16_t Board::text_id(const std::string &text) {
    if (text.empty()) return 0;
    const auto known = known_texts_.find(text);
    if (known != known_texts_.end()) return known->second;
    const auto length = static_cast<std::uint32_t>(text.size());
    if (header_->text_count >= kMaxTexts ||
        header_->text_used + sizeof(length) + length > kTextBytes)
        return kTooManyTexts;
    char *place = header_->texts + header_->text_used;
    std::memcpy(place, &length, sizeof(length));
    std::memcpy(place + sizeof(length), text.data(), length);
    header_->text_used += static_cast<std::uint32_t>(sizeof(length)) + length;
    const auto id = static_cast<std::uint16_t>(++header_->text_count);
    known_texts_.emplace(text, id);
    return id;
}

} // namespace pyharness
