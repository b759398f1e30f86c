/* What the scenarios' lines say, as data: read from the list, and shown as all clients show it.
   Included by client.c. */
#ifndef VALUES_H
#define VALUES_H

#include <farcall.h>
#include <stdio.h>

enum { RANK_MAX = 4 };

/* An element type by its name: code, bytes, and of which sort it is: i and u (whole), f (real), c
 * (complex), s (string), p (file), x (function). */
struct type { const char *name; uint32_t element; size_t bytes; char sort; };

/* A line of in, inout, out or callback. */
typedef struct argument {
    char mode[8], name[32];
    const struct type *type;
    int is_null;
    size_t rank;                 /* 0: a scalar */
    uint64_t shape[RANK_MAX];
    int64_t strides[RANK_MAX];
    char *memory, *data; /* numbers: what was allocated, and the element whose indexes are all 0 */
    size_t memory_bytes;
    farcall_text *texts;         /* strings */
    char path[128];              /* files */
    void (*function)(void);
} argument;

/* The scenario that runs, a folder for its files, and where its lines go. */
extern char scenario[64], folder[64];
extern FILE *saying;

/* Ends the program: the list is part of the tests, and not of what is tested. */
_Noreturn void wrong(const char *what, const char *where);
/* Says something of the scenario. */
void say(const char *format, ...);

/* Reads NAME TYPE EXTENT… [@LAYOUT] [ramp N…] [: VALUE…]; changes the line. */
void read_argument(argument *one, const char *mode, char *line);
void read_callback(argument *one, const char *name, const char *function);
void free_argument(argument *one);

size_t elements(const argument *one);
/* Up to 8 bytes of a number. */
uint64_t bits_of(const char *place, size_t bytes);

/* Shows one result. Its numbers are in the argument's own memory; how many there are, the results
   say, if any. */
void show_result(argument one, const farcall_results *results, size_t parameter);

#endif
