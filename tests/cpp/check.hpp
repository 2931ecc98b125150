// The least that a test needs: a check that says where it failed, and an exit status.
#pragma once

#include <iostream>
#include <string>
#include <type_traits>

namespace check {

inline int failures = 0;

// What is compared and shown: integers of any width as one kind, words as a string.
template <class T> auto shown(const T &value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) return static_cast<long long>(value);
    else if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
    else return '"' + std::string(value) + '"';
}

template <class A, class B>
void equal(const A &found, const B &expected, const char *words, const char *file, int line) {
    if (shown(found) == shown(expected)) return;
    ++failures;
    std::cerr << file << ':' << line << ": " << words << " is " << shown(found) << ", not "
              << shown(expected) << '\n';
}

inline void that(bool good, const char *words, const char *file, int line) {
    if (good) return;
    ++failures;
    std::cerr << file << ':' << line << ": not so: " << words << '\n';
}

// Whether `action` throws an Error whose words hold `part`.
template <class Error, class Action> bool throws(Action &&action, const std::string &part) {
    try {
        action();
    } catch (const Error &error) {
        return std::string(error.what()).find(part) != std::string::npos;
    }
    return false;
}

inline int result() { return failures == 0 ? 0 : 1; }

} // namespace check

#define CHECK(condition) check::that((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(found, expected) check::equal((found), (expected), #found, __FILE__, __LINE__)
