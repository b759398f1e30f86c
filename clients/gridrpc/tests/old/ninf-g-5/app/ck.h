/* ck.h: what the checks share */
#ifndef CK_H
#define CK_H

#include <grpc.h>

extern int ck_errors;
extern const char *ck_name;

void ck_begin(int argc, char **argv);
int ck_end(void);
grpc_error_t ck_call(grpc_error_t rc, grpc_error_t want, const char *what, const char *file, int line);
void ck_true(int truth, const char *what, const char *file, int line);
/* a handle of check/NAME, on the server of the configuration or the default one by turns */
grpc_function_handle_t *ck_handle(const char *name);
void ck_release(grpc_function_handle_t *h);

#define OK(c) ck_call((c), GRPC_NO_ERROR, #c, __FILE__, __LINE__)
#define FAILS(c, code) ck_call((c), (code), #c, __FILE__, __LINE__)
#define ASSERT(c) ck_true((c) != 0, #c, __FILE__, __LINE__)

#endif
