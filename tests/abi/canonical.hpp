// The form of a C type in which the vendor's headers and ours must agree: what the ABI passes.
//
// An enumeration becomes int (and must be as wide), a record behind a pointer becomes void,
// integers and floating-point types stay as they are, const behind a pointer stays.
#pragma once

#include <type_traits>

namespace proof {

template <class T, bool IsEnum = std::is_enum_v<T>,
          bool IsRecord = std::is_class_v<T> || std::is_union_v<T>>
struct Value {
    using type = T;
};

template <class T> struct Value<T, true, false> {
    static_assert(sizeof(T) == sizeof(int), "an enumeration is not as wide as int");
    using type = int;
};

// A record by value becomes a void parameter, which does not compile: none of our functions has
// one.
template <class T> struct Value<T, false, true> {
    using type = void;
};

template <class T> struct Canonical : Value<T> {};

template <class T> using canonical_t = typename Canonical<T>::type;

template <class T> struct Canonical<const T> {
    using type = std::add_const_t<canonical_t<T>>;
};

template <class T> struct Canonical<T *> {
    using type = canonical_t<T> *;
};

template <class Result, class... Arguments> struct Canonical<Result(Arguments...)> {
    using type = canonical_t<Result>(canonical_t<Arguments>...);
};

} // namespace proof

// Our declaration of a function and the vendor's are the same to the ABI.
#define PROVE_ABI(FUNCTION)                                                                        \
    static_assert(std::is_same_v<proof::canonical_t<decltype(::FUNCTION)>,                         \
                                 proof::canonical_t<pyharness::abi::FUNCTION>>,                    \
                  #FUNCTION ": csrc/abi/functions.hpp declares another type");

// The vendor's declaration has exactly these C types.
#define PROVE_TYPES(FUNCTION, ...)                                                                 \
    static_assert(std::is_same_v<decltype(::FUNCTION), __VA_ARGS__>,                               \
                  #FUNCTION ": pyharness/spec/functions.py gives other C types");

#define PROVE_ENUMERATOR(TYPE, NAME, VALUE)                                                        \
    static_assert(std::is_same_v<decltype(::NAME), ::TYPE>, #NAME ": is no " #TYPE);               \
    static_assert(static_cast<int>(::NAME) == (VALUE), #NAME ": is not " #VALUE);

#define PROVE_MACRO(NAME, VALUE) static_assert((NAME) == (VALUE), #NAME ": is not " #VALUE);

// The vendor's own arithmetic puts a status into this family; 8.x has no families.
#if defined(CUDNN_STATUS_CATEGORY)
#define PROVE_FAMILY(NAME, FAMILY)                                                                 \
    static_assert(CUDNN_STATUS_CATEGORY(static_cast<int>(::NAME)) == static_cast<int>(::FAMILY),   \
                  #NAME ": is not of the family " #FAMILY);
#endif
