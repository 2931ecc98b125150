#include "network_rows.hpp"

#include <algorithm>

namespace emulator {

Rows::Rows(const Batch &batch)
    : size_(static_cast<std::size_t>(batch.size)),
      rows_(static_cast<std::size_t>(batch.steps) * size_, kNoRow), lengths_(batch.lengths) {
    for (int step = 0; step < batch.steps; ++step) {
        begins_.push_back(places_.size());
        for (std::size_t sequence = 0; sequence < size_; ++sequence) {
            if (step >= lengths_[sequence]) continue;
            const std::size_t place = static_cast<std::size_t>(step) * size_ + sequence;
            rows_[place] = places_.size();
            places_.push_back(place);
        }
    }
    begins_.push_back(places_.size());
}

std::size_t Rows::before(std::size_t row, int direction) const {
    const std::size_t place = places_[row];
    if (direction == 0) return place < size_ ? kNoRow : rows_[place - size_];
    return place + size_ < rows_.size() ? rows_[place + size_] : kNoRow;
}

std::size_t Rows::last(std::size_t sequence, int direction) const {
    const int length = lengths_[sequence];
    if (length == 0) return kNoRow;
    const auto step = static_cast<std::size_t>(direction == 0 ? length - 1 : 0);
    return rows_[step * size_ + sequence];
}

std::vector<double> gathered(const Rows &rows, const double *array, std::size_t width) {
    std::vector<double> values(rows.count() * width);
    for (std::size_t row = 0; row < rows.count(); ++row)
        std::copy_n(array + rows.place(row) * width, width, values.data() + row * width);
    return values;
}

void scatter(const Rows &rows, const double *values, std::size_t width, double *array) {
    for (std::size_t row = 0; row < rows.count(); ++row)
        std::copy_n(values + row * width, width, array + rows.place(row) * width);
}

std::vector<double> States::before(std::size_t begin, std::size_t end) const {
    std::vector<double> found((end - begin) * width_);
    for (std::size_t row = begin; row < end; ++row)
        std::copy_n(before(row), width_, found.data() + (row - begin) * width_);
    return found;
}

} // namespace emulator
