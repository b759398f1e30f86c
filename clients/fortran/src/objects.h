/* What Fortran variables of farcall's types stand for: numbers of objects here, so that a copied or
 * closed variable is found out instead of followed. Internal to the Fortran library. */
#ifndef FARCALL_FORTRAN_OBJECTS_H
#define FARCALL_FORTRAN_OBJECTS_H

#include <ISO_Fortran_binding.h>
#include <pthread.h>
#include <stdint.h>

#include "farcall.h"

enum kind { SERVER = 1, ROUTINE = 2, FUTURE = 3, OBJECT = 4 };

/* Interfaces that a server was asked for, by name; a slot holds the one that was asked for last. */
#define CACHED 256

/* A routine, and what its interface declares. */
struct routine {
    long users; /* atomic */
    farcall_routine *routine;
    char *name; /* as it was asked for */
    size_t count;
    farcall_declared *declared;
};

struct server {
    farcall_client *client;
    farcall_server *own; /* a private one; or NULL */
    struct routine *cached[CACHED];
};

/* A routine that was looked up, and the names of its arguments; NULL for all, in order. */
struct looked_up {
    struct routine *routine;
    char *resources; /* what its calls are given; or NULL */
    char *names;
};

/* Where texts of results go: character variables, which no C function knows how to fill. */
struct text_place {
    size_t parameter;
    char *base;
    size_t length, count;
    ptrdiff_t step;
};

struct future {
    farcall_call *call;
    farcall_client *client; /* whose events tell of it; borrowed from `server` */
    struct object *server;
    struct routine *routine;
    struct text_place *places;
    size_t place_count;
    char *ran_on; /* the server's name, once it has ended */
    int over;
    int status;
    farcall_error *error;
};

/* One executable of those that are held together. */
struct held {
    struct hold *hold;
    unsigned char id[16];
    struct object *server;
};

/* What is held together, shared by the objects of an array. */
struct hold {
    long users; /* atomic */
    farcall_hold *hold;
    char *name;
    double seconds; /* for its end */
};

/* What a number stands for. */
struct object {
    long users; /* the number's, and those of calls under way; atomic */
    enum kind kind;
    pthread_mutex_t lock;
    union {
        struct server server;
        struct looked_up routine;
        struct future future;
        struct held held;
    };
};

/* How a function ends: `stat` and `errmsg` as of a Fortran statement; either may be absent. */
struct ending {
    int *stat;
    CFI_cdesc_t *errmsg;
};

/* A new object of zeros with one user; NULL without memory. */
struct object *object_new(enum kind kind);
/* Gives it a number that is nobody's else; 0 without memory, and then the object is freed. */
int64_t object_publish(struct object *object);
/* The object of the number, kept until object_release; NULL if there is none of this kind. */
struct object *object_find(int64_t number, enum kind kind);
void object_keep(struct object *object);
void object_release(struct object *object);
/* Takes the number away from its object, which the caller releases; NULL if there is none. */
struct object *object_take(int64_t number, enum kind kind);

void routine_keep(struct routine *routine);
void routine_release(struct routine *routine);
void hold_release(struct hold *hold);

/* Ends well. */
void end_well(struct ending ending);
/* Ends with an error of the library's, which is freed. */
void end_with(struct ending ending, int status, farcall_error *error);
/* Ends with words of our own. */
void end_saying(struct ending ending, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, and true, where the memory is over. */
int end_without_memory(struct ending ending, const void *memory);

/* A NUL-terminated copy without blanks at both ends; NULL without memory. Freed by free. */
char *text_of(const CFI_cdesc_t *text);
/* How many characters come before the blanks at the end, or before a NUL. */
size_t trimmed(const char *text, size_t length);
/* As Fortran assigns: blanks behind, or cut off. */
void assign(char *place, size_t length, const char *text, size_t bytes);

#endif
