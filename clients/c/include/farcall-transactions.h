/* Transactions: calls that run at a server as one graph. farcall.h includes this header. */
#ifndef FARCALL_TRANSACTIONS_H
#define FARCALL_TRANSACTIONS_H

#include "farcall.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Calls are written down first, each with results of earlier ones among its arguments. Nothing is
 * sent before farcall_transaction_begin. The server ends a transaction when it and all its results
 * (farcall_transaction_result) are freed here, or the connection has ended, unless it is kept. Any
 * number of threads may use one farcall_transaction. */

/* An empty transaction. The caller frees *transaction. FARCALL_VERSION from a server that is too old
 * for transactions. */
int farcall_transaction_new(
    const farcall_client *client, farcall_transaction **transaction, farcall_error **error);
/* Writes a call down, with one argument per parameter as for farcall_call_arguments; *number (unless
 * NULL) counts calls from 0. Arrays, texts and numbers are copied. A result of an earlier call is
 * passed as FARCALL_DATA, also for one number. Every destination is FARCALL_NEW, and OUT parameters
 * are FARCALL_UNSET: results stay at the server. `after` has the numbers of after_count calls that
 * must have returned before. What is wrong with a call is told here, as far as it is known, and the
 * call is left out; functions, files, URLs and methods of objects are refused. */
int farcall_transaction_call(farcall_transaction *transaction, const farcall_routine *routine,
    const farcall_argument *arguments, size_t count, const uint32_t *after, size_t after_count,
    uint32_t *number, farcall_error **error);
/* What a call makes for a parameter: an argument of later calls of the transaction, and data like
 * any other when it has begun. The server keeps what has not been freed by then. The caller frees
 * *data. FARCALL_NOT_FOUND for what is no such result, or is not kept. */
int farcall_transaction_result(farcall_transaction *transaction, uint32_t call, size_t parameter,
    farcall_data **data, farcall_error **error);
/* Has the server keep a result without a farcall_data: farcall_transaction_result gives one later. */
int farcall_transaction_want(
    farcall_transaction *transaction, uint32_t call, size_t parameter, farcall_error **error);

typedef struct farcall_transaction_options {
    size_t size;            /* sizeof(farcall_transaction_options) */
    /* > 0: the transaction goes on without this program, and stays with its results for so long
     * after both have ended */
    double keep_seconds;
    double timeout_seconds; /* until the server has accepted it and has its arrays; 0: none */
} farcall_transaction_options;

/* Sends it; when this returns, the calls run. `options` may be NULL. If the server refuses it,
 * nothing has run, and the error says which call is wrong. An empty one sends nothing. */
int farcall_transaction_begin(farcall_transaction *transaction,
    const farcall_transaction_options *options, farcall_error **error);
/* Waits until all calls have ended, for ever if timeout_seconds < 0. FARCALL_PENDING if they have not
 * by then. If calls failed, the error is that of the first. */
int farcall_transaction_wait(
    farcall_transaction *transaction, double timeout_seconds, farcall_error **error);
/* Whether all calls have ended: *done is 1 or 0. Asks the server. */
int farcall_transaction_done(farcall_transaction *transaction, int *done, farcall_error **error);
/* Writes its id, 32 hexadecimal digits and a NUL; 0 for NULL. */
int farcall_transaction_id(const farcall_transaction *transaction, char *id);
/* It is not ended when it is freed: it stays as long as the connection, or until it is ended. */
void farcall_transaction_leave(const farcall_transaction *transaction);
/* Ends it now: calls that are open are cancelled, and its results are deleted. */
int farcall_transaction_end(farcall_transaction *transaction, farcall_error **error);
void farcall_transaction_free(farcall_transaction *transaction);

/* By the id of a transaction, from any process of the same user. The caller frees the texts with
 * farcall_text_free. FARCALL_NOT_FOUND. */

/* This user's transactions, as a JSON array of objects: id, state ("running", "ended"), calls,
 * returned, failed (how many), age (seconds since it began), seconds_left (until it is forgotten;
 * null while it runs or its client is connected), principal, reason (why its first call failed, or
 * null). At most 1000 of each server that the server knows. With an id that one alone, of the server
 * that is connected to. */
int farcall_transactions_list(
    const farcall_client *client, const char *id, char **json, farcall_error **error);
/* When and where the calls ran, as a JSON array of objects in the order of the calls: call, routine,
 * server (or null), state ("waits", "open", "returned", "failed", "not run"), attempts, and ready,
 * opened, begun and ended in seconds since the transaction began (or null). */
int farcall_transactions_timeline(
    const farcall_client *client, const char *id, char **json, farcall_error **error);
/* The results that the server keeps, as a JSON array of objects in the order of the calls: call,
 * routine, parameter, data (its id, for farcall_find_data). */
int farcall_transactions_results(
    const farcall_client *client, const char *id, char **json, farcall_error **error);
/* As farcall_transaction_end. */
int farcall_transactions_end(const farcall_client *client, const char *id, farcall_error **error);

#ifdef __cplusplus
}
#endif

#endif
