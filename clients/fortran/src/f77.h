/* How FORTRAN 77 names are bound, and texts are passed. Internal to the Fortran library. */
#ifndef FARCALL_FORTRAN_F77_H
#define FARCALL_FORTRAN_F77_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Declares the name as compilers have it: NAME of FORTRAN is name_, with a second underscore of
   those that follow f2c. */
#define F77(type, name, ...) \
    type name##_(__VA_ARGS__); \
    type name##__(__VA_ARGS__) __attribute__((alias(#name "_"))); \
    type name##_(__VA_ARGS__)

/* Arguments of calls, and behind them the lengths of CHARACTERs, whatever they are: as many words
 * as a call may have. A caller passes as many as there are; what lies behind is its own, is read at
 * most, and means nothing. */
#define WORDS_MAX 128
#define W(n) void *const w##n
#define W8(a, b, c, d, e, f, g, h) W(a), W(b), W(c), W(d), W(e), W(f), W(g), W(h)
#define WORDS \
    W8(1, 2, 3, 4, 5, 6, 7, 8), W8(9, 10, 11, 12, 13, 14, 15, 16), \
        W8(17, 18, 19, 20, 21, 22, 23, 24), W8(25, 26, 27, 28, 29, 30, 31, 32), \
        W8(33, 34, 35, 36, 37, 38, 39, 40), W8(41, 42, 43, 44, 45, 46, 47, 48), \
        W8(49, 50, 51, 52, 53, 54, 55, 56), W8(57, 58, 59, 60, 61, 62, 63, 64), \
        W8(65, 66, 67, 68, 69, 70, 71, 72), W8(73, 74, 75, 76, 77, 78, 79, 80), \
        W8(81, 82, 83, 84, 85, 86, 87, 88), W8(89, 90, 91, 92, 93, 94, 95, 96), \
        W8(97, 98, 99, 100, 101, 102, 103, 104), W8(105, 106, 107, 108, 109, 110, 111, 112), \
        W8(113, 114, 115, 116, 117, 118, 119, 120), W8(121, 122, 123, 124, 125, 126, 127, 128)
#define GIVEN_WORDS \
    w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15, w16, w17, w18, w19, w20, \
        w21, w22, w23, w24, w25, w26, w27, w28, w29, w30, w31, w32, w33, w34, w35, w36, w37, w38, \
        w39, w40, w41, w42, w43, w44, w45, w46, w47, w48, w49, w50, w51, w52, w53, w54, w55, w56, \
        w57, w58, w59, w60, w61, w62, w63, w64, w65, w66, w67, w68, w69, w70, w71, w72, w73, w74, \
        w75, w76, w77, w78, w79, w80, w81, w82, w83, w84, w85, w86, w87, w88, w89, w90, w91, w92, \
        w93, w94, w95, w96, w97, w98, w99, w100, w101, w102, w103, w104, w105, w106, w107, w108, \
        w109, w110, w111, w112, w113, w114, w115, w116, w117, w118, w119, w120, w121, w122, w123, \
        w124, w125, w126, w127, w128

/* The longest name of a function, server or file. */
#define NAME_MAX_BYTES 1024

/* A CHARACTER as text: without blanks at its end, and without the "()" that old programs put there.
   */
static inline char *f77_text(char *place, const char *text, size_t length)
{
    const char *nul = memchr(text, 0, length < NAME_MAX_BYTES ? length : NAME_MAX_BYTES - 1);
    if (nul)
        length = (size_t)(nul - text);
    if (length >= NAME_MAX_BYTES)
        length = NAME_MAX_BYTES - 1;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    if (length >= 2 && text[length - 2] == '(' && text[length - 1] == ')')
        length -= 2;
    memcpy(place, text, length);
    place[length] = 0;
    return place;
}

/* The same of a name whose length is not known before the interface is: it stands behind arguments
 * that only this name tells. It ends with "()", a blank, a NUL, or whatever is in no name. */
static inline char *f77_name(char *place, const char *text)
{
    size_t length =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$./:");
    if (length >= NAME_MAX_BYTES)
        length = NAME_MAX_BYTES - 1;
    memcpy(place, text, length);
    place[length] = 0;
    return place;
}

/* Gives a CHARACTER back: blanks behind it, or cut off. */
static inline void f77_give(char *place, size_t length, const char *text)
{
    size_t bytes = strlen(text), copied = bytes < length ? bytes : length;
    memcpy(place, text, copied);
    memset(place + copied, ' ', length - copied);
}

#endif
