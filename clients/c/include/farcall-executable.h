/* What the main program of a linked executable needs of libfarcall.so; `farcall serve` generates such programs. */
#ifndef FARCALL_EXECUTABLE_H
#define FARCALL_EXECUTABLE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A routine of the executable: its name in the server's tables, and its code. */
struct farcall_entry {
    const char *name;
    void (*function)(void);
};

/* Serves the server that started this process, and returns main's exit status. The table must live as long. */
int farcall_executable_main(int argc, char **argv, const struct farcall_entry *entries, size_t count);

#ifdef __cplusplus
}
#endif

#endif
