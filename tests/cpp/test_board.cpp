// The board: codes of statuses, ids of texts, and what happens when there is no place for more.
#include "check.hpp"
#include "walk/board.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

using namespace pyharness;

namespace {

// Exactly as many bytes as asked for, so that a sanitizer sees one too many.
struct Memory {
    explicit Memory(std::size_t bytes) : size(bytes), place(new char[bytes]()) {}
    BoardHeader &header() { return *reinterpret_cast<BoardHeader *>(place.get()); }
    std::size_t size;
    std::unique_ptr<char[]> place;
};

void has_the_promised_layout() {
    CHECK_EQUAL(sizeof(BoardHeader), std::size_t{24 + 4 * 254 + (1 << 20)});
    for (const std::int64_t rows : {1, 2, 7, 1000}) {
        Memory memory(Board::bytes_for(rows));
        CHECK_EQUAL(memory.size, sizeof(BoardHeader) + static_cast<std::size_t>(3 * rows));
        Board board(memory.place.get(), memory.size);
        CHECK_EQUAL(board.capacity(), rows);
        board.start(rows);
        board.text_ids()[rows - 1] = 0xabcd;
        board.codes()[0] = 0x11;
        board.codes()[rows - 1] = 0x22;
        CHECK(static_cast<unsigned char>(memory.place[memory.size - 1]) == 0x22);
        const char *texts = memory.place.get() + sizeof(BoardHeader);
        std::uint16_t last;
        std::memcpy(&last, texts + 2 * (rows - 1), sizeof(last));
        CHECK_EQUAL(last, 0xabcd);
        CHECK_EQUAL(texts[2 * rows], rows == 1 ? 0x22 : 0x11);
    }
}

void refuses_what_does_not_fit() {
    Memory memory(Board::bytes_for(3));
    CHECK(check::throws<std::invalid_argument>(
        [&] { Board(memory.place.get(), Board::bytes_for(1) - 1); }, "too small"));
    Board board(memory.place.get(), memory.size);
    CHECK(check::throws<std::out_of_range>([&] { board.start(4); }, "more rows"));
}

void starts_each_job_anew() {
    Memory memory(Board::bytes_for(5));
    Board board(memory.place.get(), memory.size);
    std::fill_n(board.codes(), 5, std::uint8_t{7});
    std::fill_n(board.text_ids(), 5, std::uint16_t{9});
    board.set_cursor(3);
    board.start(4);
    CHECK_EQUAL(memory.header().cursor, kPreparing);
    for (int i = 0; i < 4; ++i) {
        CHECK_EQUAL(board.codes()[i], kNotRun);
        CHECK_EQUAL(board.text_ids()[i], 0);
    }
    CHECK_EQUAL(board.codes()[4], 7);
    board.set_cursor(2);
    CHECK_EQUAL(memory.header().cursor, 2);
}

void gives_every_status_its_code() {
    Memory memory(Board::bytes_for(1));
    Board board(memory.place.get(), memory.size);
    const std::vector<int> met = {2000, 0, -5, 8191, 8192, 12345, -2147483647 - 1, 2147483647};
    for (int round = 0; round < 2; ++round)
        for (std::size_t i = 0; i < met.size(); ++i) {
            CHECK_EQUAL(board.code(met[i]), i);
            CHECK_EQUAL(memory.header().statuses[i], met[i]);
        }
    CHECK_EQUAL(memory.header().status_count, met.size());
    for (int status = 100; memory.header().status_count < kMaxStatuses; ++status) {
        const auto next = memory.header().status_count;
        CHECK_EQUAL(board.code(status), next);
    }
    for (const int status : {5000, 9000, -1})
        CHECK_EQUAL(board.code(status), kTooManyStatuses);
    CHECK_EQUAL(board.code(5000), kTooManyStatuses);
    CHECK_EQUAL(board.code(2000), 0);
    CHECK_EQUAL(board.code(12345), 5);
    CHECK_EQUAL(memory.header().status_count, kMaxStatuses);
}

void gives_every_text_its_id() {
    Memory memory(Board::bytes_for(1));
    Board board(memory.place.get(), memory.size);
    CHECK_EQUAL(board.text_id(""), 0);
    const std::string with_nul("a\0b", 3);
    CHECK_EQUAL(board.text_id(with_nul), 1);
    CHECK_EQUAL(board.text_id("a"), 2);
    CHECK_EQUAL(board.text_id(with_nul), 1);
    const char expected[] = "\3\0\0\0a\0b\1\0\0\0a";
    CHECK(std::memcmp(memory.header().texts, expected, sizeof(expected) - 1) == 0);
    CHECK_EQUAL(memory.header().text_used, sizeof(expected) - 1);
    for (std::size_t i = 3; i <= kMaxTexts; ++i)
        CHECK_EQUAL(board.text_id("text " + std::to_string(i)), i);
    CHECK_EQUAL(board.text_id("one more"), kTooManyTexts);
    CHECK_EQUAL(board.text_id("text 4000"), 4000);
    CHECK_EQUAL(memory.header().text_count, kMaxTexts);
}

void keeps_texts_as_long_as_there_is_place() {
    Memory memory(Board::bytes_for(1));
    Board board(memory.place.get(), memory.size);
    const std::string half(kTextBytes / 2 - 4, 'x');
    CHECK_EQUAL(board.text_id(half), 1);
    CHECK_EQUAL(board.text_id(half + "y"), kTooManyTexts); // a byte too long
    CHECK_EQUAL(board.text_id("y" + half.substr(1)), 2);   // to the last byte
    CHECK_EQUAL(memory.header().text_used, kTextBytes);
    CHECK_EQUAL(board.text_id("z"), kTooManyTexts);
    CHECK_EQUAL(board.text_id(half), 1);
}

} // namespace

int main() {
    has_the_promised_layout();
    refuses_what_does_not_fit();
    starts_each_job_anew();
    gives_every_status_its_code();
    gives_every_text_its_id();
    keeps_texts_as_long_as_there_is_place();
    return check::result();
}
