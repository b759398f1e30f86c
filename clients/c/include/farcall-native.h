/* The native call of Farcall: `farcall_call(client, &error, "lapack/dgesv", n, nrhs, a, lda, ipiv, b, ldb, &info)`.
 *
 * Arguments are written as for a local call: all parameters but the WORK ones, in interface order. The compiler tags
 * each with its type, so that a wrong number, a wrong type or a pointer in a value's place is
 * FARCALL_INVALID_ARGUMENT with the argument's position and name, and no crash.
 *
 * - IN scalars go by value: integers (must fit), real numbers, complex ones. An integer may stand for a real number,
 *   not the other way round. A character is 'N'; structs go by pointer.
 * - OUT and INOUT scalars, and all arrays, go by pointer to the interface's own type, and are written in place.
 *   Arrays have the interface's own layout, leading dimensions included. `double a[4][3]` is a pointer to double
 *   too; of arrays with three dimensions in C, pass the first element's address. A `void *` is taken on trust.
 * - IN strings are `const char *`; OUT and INOUT strings are `char **`: the result is made by malloc(), free() it.
 *   An INOUT one is read first, and replaced, not freed. NULL stands for a NULL string, and for an array without
 *   elements or that the routine does not refer to; for a result, it says that it is not wanted.
 *
 * C11 counts up to 64 arguments; zero are fine. In C++17 the same call is a template; before, C++ has the functions of
 * farcall.h alone. Each argument is evaluated once. Included by farcall.h; spec/c-abi.md, section 6.
 */
#ifndef FARCALL_NATIVE_H
#define FARCALL_NATIVE_H

#include "farcall-numbers.h"

#if defined __cplusplus && __cplusplus >= 201703L
#include <complex>
#include <type_traits>
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* An argument with its tag: 24 bytes. */
typedef struct farcall_value {
    uint32_t tag;      /* FARCALL_TAG_* */
    uint32_t reserved; /* zero */
    union {
        int64_t integer;        /* of signed types and char */
        uint64_t natural;       /* of unsigned types */
        double real[2];         /* of real types; of complex ones, both parts */
        const void *pointer;
    } value;
} farcall_value;

/* What the native call stands on. values[0] is the routine's name, a pointer to char; the arguments
   follow. */
int farcall_call_tagged(
    farcall_client *client, farcall_error **error, const farcall_value *values, size_t count);
int farcall_start_tagged(farcall_client *client, farcall_error **error, farcall_call **call,
                         const farcall_value *values, size_t count);

#ifdef __cplusplus
}
#endif

#define FARCALL_TAG_LONG (sizeof(long) == 8 ? FARCALL_INT64 : FARCALL_INT32)
#define FARCALL_TAG_ULONG (sizeof(long) == 8 ? FARCALL_UINT64 : FARCALL_UINT32)

#ifndef __cplusplus

static inline farcall_value farcall_make_integer(uint32_t tag, long long value)
{
    farcall_value made = {tag, 0, {.integer = value}};
    return made;
}

static inline farcall_value farcall_make_natural(uint32_t tag, unsigned long long value)
{
    farcall_value made = {tag, 0, {.natural = value}};
    return made;
}

static inline farcall_value farcall_make_real(uint32_t tag, double value)
{
    farcall_value made = {tag, 0, {.real = {value, 0.0}}};
    return made;
}

static inline farcall_value farcall_make_complex(uint32_t tag, double _Complex value)
{
    /* A complex number lies in memory as its two parts; this needs no <complex.h>. */
    const union { double _Complex whole; double parts[2]; } both = {value};
    farcall_value made = {tag, 0, {.real = {both.parts[0], both.parts[1]}}};
    return made;
}

/* For whatever is no number. Its name is what the compiler says of a struct by value or a long
   double. */
static inline farcall_value farcall_pass_the_address_of_this_argument(
    uint32_t tag, const void *value)
{
    farcall_value made = {tag, 0, {.pointer = value}};
    return made;
}

/* All ways to pass one type. `type (*)[]` is compatible with pointers to arrays of any length. */
#define FARCALL_TAGS(type, element) \
    type: (element), \
    type *: (element) | FARCALL_TAG_POINTER, \
    const type *: (element) | FARCALL_TAG_POINTER | FARCALL_TAG_CONST, \
    type (*)[]: (element) | FARCALL_TAG_POINTER, \
    const type (*)[]: (element) | FARCALL_TAG_POINTER | FARCALL_TAG_CONST

#define FARCALL_TAG(x) \
    _Generic((x), \
        FARCALL_TAGS(char, FARCALL_CHAR), \
        FARCALL_TAGS(signed char, FARCALL_INT8), \
        FARCALL_TAGS(unsigned char, FARCALL_UINT8), \
        FARCALL_TAGS(short, FARCALL_INT16), \
        FARCALL_TAGS(unsigned short, FARCALL_UINT16), \
        FARCALL_TAGS(int, FARCALL_INT32), \
        FARCALL_TAGS(unsigned, FARCALL_UINT32), \
        FARCALL_TAGS(long, FARCALL_TAG_LONG), \
        FARCALL_TAGS(unsigned long, FARCALL_TAG_ULONG), \
        FARCALL_TAGS(long long, FARCALL_INT64), \
        FARCALL_TAGS(unsigned long long, FARCALL_UINT64), \
        FARCALL_TAGS(float, FARCALL_FLOAT32), \
        FARCALL_TAGS(double, FARCALL_FLOAT64), \
        FARCALL_TAGS(float _Complex, FARCALL_COMPLEX64), \
        FARCALL_TAGS(double _Complex, FARCALL_COMPLEX128), \
        FARCALL_TAGS(_Bool, FARCALL_UINT8), \
        void *: FARCALL_VOID | FARCALL_TAG_POINTER, \
        const void *: FARCALL_VOID | FARCALL_TAG_POINTER | FARCALL_TAG_CONST, \
        char **: FARCALL_CHAR | FARCALL_TAG_POINTER | FARCALL_TAG_TEXT, \
        const char **: FARCALL_CHAR | FARCALL_TAG_POINTER | FARCALL_TAG_TEXT | FARCALL_TAG_CONST, \
        char *const *: FARCALL_CHAR | FARCALL_TAG_POINTER | FARCALL_TAG_TEXT | FARCALL_TAG_CONST, \
        const char *const *: FARCALL_CHAR | FARCALL_TAG_POINTER | FARCALL_TAG_TEXT | \
            FARCALL_TAG_CONST, \
        default: FARCALL_VOID | FARCALL_TAG_POINTER | FARCALL_TAG_OTHER)

/* An argument that does not compile here (a struct by value, long double) cannot be passed: pass
   its address. */
#define FARCALL_VALUE(x) \
    _Generic((x), \
        char: farcall_make_integer, \
        signed char: farcall_make_integer, \
        short: farcall_make_integer, \
        int: farcall_make_integer, \
        long: farcall_make_integer, \
        long long: farcall_make_integer, \
        _Bool: farcall_make_natural, \
        unsigned char: farcall_make_natural, \
        unsigned short: farcall_make_natural, \
        unsigned: farcall_make_natural, \
        unsigned long: farcall_make_natural, \
        unsigned long long: farcall_make_natural, \
        float: farcall_make_real, \
        double: farcall_make_real, \
        float _Complex: farcall_make_complex, \
        double _Complex: farcall_make_complex, \
        default: farcall_pass_the_address_of_this_argument)(FARCALL_TAG(x), (x))

/* farcall_call(client, error, name, arguments…) and farcall_start_call(client, error, &call, name,
   arguments…). */
#define farcall_call(client, error, ...) \
    farcall_call_tagged((client), (error), (const farcall_value[]){FARCALL_VALUES(__VA_ARGS__)}, \
                        FARCALL_COUNT(__VA_ARGS__))
#define farcall_start_call(client, error, call, ...) \
    farcall_start_tagged((client), (error), (call), \
        (const farcall_value[]) {FARCALL_VALUES(__VA_ARGS__)}, FARCALL_COUNT(__VA_ARGS__))

/* The number of what is passed, from 1 to 65 (up to 129 it is seen that they are too many), and all
   their values. */
#define FARCALL_COUNT(...) \
    FARCALL_PICK(__VA_ARGS__, FARCALL_64_TIMES(FARCALL_TOO_MANY), 65, 64, 63, 62, 61, 60, 59, 58, \
        57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, \
        35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, \
        13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define FARCALL_64_TIMES(x) \
    FARCALL_16_TIMES(x), FARCALL_16_TIMES(x), FARCALL_16_TIMES(x), FARCALL_16_TIMES(x)
#define FARCALL_16_TIMES(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
#define FARCALL_PICK(...) FARCALL_PICK_EXPANDED(__VA_ARGS__)
#define FARCALL_PICK_EXPANDED(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, \
    a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, \
    a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, \
    a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, a65, a66, a67, a68, a69, a70, a71, a72, \
    a73, a74, a75, a76, a77, a78, a79, a80, a81, a82, a83, a84, a85, a86, a87, a88, a89, a90, a91, \
    a92, a93, a94, a95, a96, a97, a98, a99, a100, a101, a102, a103, a104, a105, a106, a107, a108, \
    a109, a110, a111, a112, a113, a114, a115, a116, a117, a118, a119, a120, a121, a122, a123, \
    a124, a125, a126, a127, a128, a129, picked, ...) \
    picked
#define FARCALL_VALUES(...) FARCALL_JOIN(FARCALL_VALUES_, FARCALL_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define FARCALL_JOIN(left, right) FARCALL_JOIN_EXPANDED(left, right)
#define FARCALL_JOIN_EXPANDED(left, right) left##right
/* No such name exists, so that the compiler says it. */
#define FARCALL_VALUES_FARCALL_TOO_MANY(...) farcall_call_takes_at_most_64_arguments
#define FARCALL_VALUES_1(x) FARCALL_VALUE(x)
#define FARCALL_VALUES_2(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_1(__VA_ARGS__)
#define FARCALL_VALUES_3(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_2(__VA_ARGS__)
#define FARCALL_VALUES_4(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_3(__VA_ARGS__)
#define FARCALL_VALUES_5(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_4(__VA_ARGS__)
#define FARCALL_VALUES_6(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_5(__VA_ARGS__)
#define FARCALL_VALUES_7(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_6(__VA_ARGS__)
#define FARCALL_VALUES_8(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_7(__VA_ARGS__)
#define FARCALL_VALUES_9(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_8(__VA_ARGS__)
#define FARCALL_VALUES_10(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_9(__VA_ARGS__)
#define FARCALL_VALUES_11(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_10(__VA_ARGS__)
#define FARCALL_VALUES_12(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_11(__VA_ARGS__)
#define FARCALL_VALUES_13(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_12(__VA_ARGS__)
#define FARCALL_VALUES_14(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_13(__VA_ARGS__)
#define FARCALL_VALUES_15(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_14(__VA_ARGS__)
#define FARCALL_VALUES_16(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_15(__VA_ARGS__)
#define FARCALL_VALUES_17(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_16(__VA_ARGS__)
#define FARCALL_VALUES_18(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_17(__VA_ARGS__)
#define FARCALL_VALUES_19(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_18(__VA_ARGS__)
#define FARCALL_VALUES_20(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_19(__VA_ARGS__)
#define FARCALL_VALUES_21(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_20(__VA_ARGS__)
#define FARCALL_VALUES_22(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_21(__VA_ARGS__)
#define FARCALL_VALUES_23(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_22(__VA_ARGS__)
#define FARCALL_VALUES_24(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_23(__VA_ARGS__)
#define FARCALL_VALUES_25(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_24(__VA_ARGS__)
#define FARCALL_VALUES_26(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_25(__VA_ARGS__)
#define FARCALL_VALUES_27(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_26(__VA_ARGS__)
#define FARCALL_VALUES_28(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_27(__VA_ARGS__)
#define FARCALL_VALUES_29(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_28(__VA_ARGS__)
#define FARCALL_VALUES_30(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_29(__VA_ARGS__)
#define FARCALL_VALUES_31(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_30(__VA_ARGS__)
#define FARCALL_VALUES_32(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_31(__VA_ARGS__)
#define FARCALL_VALUES_33(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_32(__VA_ARGS__)
#define FARCALL_VALUES_34(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_33(__VA_ARGS__)
#define FARCALL_VALUES_35(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_34(__VA_ARGS__)
#define FARCALL_VALUES_36(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_35(__VA_ARGS__)
#define FARCALL_VALUES_37(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_36(__VA_ARGS__)
#define FARCALL_VALUES_38(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_37(__VA_ARGS__)
#define FARCALL_VALUES_39(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_38(__VA_ARGS__)
#define FARCALL_VALUES_40(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_39(__VA_ARGS__)
#define FARCALL_VALUES_41(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_40(__VA_ARGS__)
#define FARCALL_VALUES_42(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_41(__VA_ARGS__)
#define FARCALL_VALUES_43(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_42(__VA_ARGS__)
#define FARCALL_VALUES_44(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_43(__VA_ARGS__)
#define FARCALL_VALUES_45(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_44(__VA_ARGS__)
#define FARCALL_VALUES_46(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_45(__VA_ARGS__)
#define FARCALL_VALUES_47(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_46(__VA_ARGS__)
#define FARCALL_VALUES_48(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_47(__VA_ARGS__)
#define FARCALL_VALUES_49(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_48(__VA_ARGS__)
#define FARCALL_VALUES_50(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_49(__VA_ARGS__)
#define FARCALL_VALUES_51(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_50(__VA_ARGS__)
#define FARCALL_VALUES_52(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_51(__VA_ARGS__)
#define FARCALL_VALUES_53(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_52(__VA_ARGS__)
#define FARCALL_VALUES_54(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_53(__VA_ARGS__)
#define FARCALL_VALUES_55(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_54(__VA_ARGS__)
#define FARCALL_VALUES_56(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_55(__VA_ARGS__)
#define FARCALL_VALUES_57(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_56(__VA_ARGS__)
#define FARCALL_VALUES_58(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_57(__VA_ARGS__)
#define FARCALL_VALUES_59(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_58(__VA_ARGS__)
#define FARCALL_VALUES_60(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_59(__VA_ARGS__)
#define FARCALL_VALUES_61(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_60(__VA_ARGS__)
#define FARCALL_VALUES_62(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_61(__VA_ARGS__)
#define FARCALL_VALUES_63(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_62(__VA_ARGS__)
#define FARCALL_VALUES_64(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_63(__VA_ARGS__)
#define FARCALL_VALUES_65(x, ...) FARCALL_VALUE(x), FARCALL_VALUES_64(__VA_ARGS__)

#elif __cplusplus >= 201703L

namespace farcall_native {

/* The element type of T; no number has FARCALL_VOID. */
template <class T> constexpr uint32_t element()
{
    using std::is_same;
    if (is_same<T, char>::value) return FARCALL_CHAR;
    if (is_same<T, float>::value) return FARCALL_FLOAT32;
    if (is_same<T, double>::value) return FARCALL_FLOAT64;
    if (is_same<T, std::complex<float>>::value) return FARCALL_COMPLEX64;
    if (is_same<T, std::complex<double>>::value) return FARCALL_COMPLEX128;
    if (std::is_integral<T>::value || std::is_enum<T>::value) {
        const uint32_t step = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : sizeof(T) == 4 ? 4 : 6;
        return FARCALL_INT8 + step + (std::is_signed<T>::value || std::is_enum<T>::value ? 0 : 1);
    }
    return FARCALL_VOID;
}

/* The tag of a pointer to T, which is not an array any more. */
template <class T> constexpr uint32_t pointer_tag()
{
    using Bare = std::remove_cv_t<T>;
    uint32_t tag =
        element<Bare>() | FARCALL_TAG_POINTER | (std::is_const<T>::value ? FARCALL_TAG_CONST : 0);
    if (std::is_same<std::remove_cv_t<std::remove_pointer_t<Bare>>, char>::value &&
        std::is_pointer<Bare>::value) {
        const bool fixed = std::is_const<std::remove_pointer_t<Bare>>::value;
        return tag | FARCALL_CHAR | FARCALL_TAG_TEXT | (fixed ? FARCALL_TAG_CONST : 0);
    }
    return std::is_void<Bare>::value || element<Bare>() != FARCALL_VOID ? tag
                                                                        : tag | FARCALL_TAG_OTHER;
}

template <class T> farcall_value value(T argument) noexcept
{
    farcall_value made{};
    if constexpr (std::is_same<T, std::nullptr_t>::value) {
        made.tag = FARCALL_VOID | FARCALL_TAG_POINTER;
        made.value.pointer = nullptr;
    } else if constexpr (std::is_pointer<T>::value) {
        /* Memory is written to only where the tag does not say const. */
        made.tag = pointer_tag<std::remove_all_extents_t<std::remove_pointer_t<T>>>();
        made.value.pointer = (const void *)argument;
    } else {
        static_assert(element<T>() != FARCALL_VOID,
            "Farcall takes numbers and pointers; pass the address of this one");
        made.tag = element<T>();
        if constexpr (std::is_floating_point<T>::value) {
            made.value.real[0] = argument;
        } else if constexpr (std::is_integral<T>::value || std::is_enum<T>::value) {
            /* Two's complement: both members have the same bits. */
            made.value.integer = (int64_t)argument;
        } else {
            made.value.real[0] = argument.real();
            made.value.real[1] = argument.imag();
        }
    }
    return made;
}

template <class... Arguments>
int call(farcall_client *client, farcall_error **error, const char *name,
    Arguments... arguments) noexcept
{
    const farcall_value values[] = {value(name), value(arguments)...};
    return farcall_call_tagged(client, error, values, 1 + sizeof...(arguments));
}

template <class... Arguments>
int start(farcall_client *client, farcall_error **error, farcall_call **call, const char *name,
          Arguments... arguments) noexcept
{
    const farcall_value values[] = {value(name), value(arguments)...};
    return farcall_start_tagged(client, error, call, values, 1 + sizeof...(arguments));
}

} /* namespace farcall_native */

/* Macros as in C, because a type has the first one's name. */
#define farcall_call(...) farcall_native::call(__VA_ARGS__)
#define farcall_start_call(...) farcall_native::start(__VA_ARGS__)

#endif

#endif
