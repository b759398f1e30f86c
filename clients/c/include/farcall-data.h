/* Data: values that stay at a server. farcall.h includes this header. */
#ifndef FARCALL_DATA_H
#define FARCALL_DATA_H

#include "farcall.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Data never changes. It is passed as FARCALL_DATA, also while the call that makes it has not ended:
 * the server has the later call wait. The server deletes it when its last farcall_data is freed, or
 * the connection has ended, but for its lease. Any number of threads may use one farcall_data. */

/* Sends an array (FARCALL_ARRAY with data, element, rank, shape and strides) to the server. Of the
 * options, timeout_seconds and lease_seconds count, and `at`. The caller frees *data with
 * farcall_data_free. FARCALL_LIMIT_EXCEEDED where there is no room for it, FARCALL_VERSION from a
 * server that keeps no data. */
int farcall_put(const farcall_client *client, const farcall_argument *array,
    const farcall_call_options *options, farcall_data **data, farcall_error **error);
/* Data by its id (33 bytes, as farcall_data_id writes it), which is not deleted with *data: of
 * another process of this user, or one before. FARCALL_NOT_FOUND. */
int farcall_find_data(
    const farcall_client *client, const char *id, farcall_data **data, farcall_error **error);
/* The same for `count` ids, which the server that is connected to is asked for together. data[i] is
 * NULL for what it does not have. */
int farcall_find_several_data(const farcall_client *client, const char *const *ids, size_t count,
    farcall_data **data, farcall_error **error);
/* This user's data, as a JSON array of objects: id, state ("coming", "there", "failed"), type,
 * extents, bytes, seconds_left (null while its client is connected), principal, reason (why it will
 * never be there, or null). At most 1000 of each server that the server knows. The caller frees the
 * text with farcall_text_free. */
int farcall_data_list(const farcall_client *client, char **json, farcall_error **error);
/* A result that is to stay (farcall_call_options.stay), as soon as its call was started. The caller
 * frees *data. FARCALL_NOT_FOUND for other parameters. A call that is freed before it has ended is
 * cancelled, and its data will never be there. */
int farcall_call_data(
    const farcall_call *call, size_t parameter, farcall_data **data, farcall_error **error);
/* The same of a call that has ended: FARCALL_RESULT_DATA. */
int farcall_results_data(
    const farcall_results *results, size_t parameter, farcall_data **data, farcall_error **error);
/* Has the value come, as a call that is waited for (farcall_call_wait), which also tells why it does
 * not: its last parameter, `value`, is the result. The caller frees *call with farcall_call_free, and *routine (unless NULL) with
 * farcall_routine_free. */
int farcall_data_fetch(const farcall_data *data, const farcall_call_options *options,
    farcall_routine **routine, farcall_call **call, farcall_error **error);
/* Writes its id, 32 hexadecimal digits and a NUL; 0 for NULL. */
int farcall_data_id(const farcall_data *data, char *id);
uint32_t farcall_data_element(const farcall_data *data); /* enum farcall_element */
size_t farcall_data_rank(const farcall_data *data);
/* Its extents, farcall_data_rank of them; the data's. NULL while they are not known here: those of a
 * result that the routine itself decides are not before its call has ended. */
const uint64_t *farcall_data_extents(const farcall_data *data);
/* The server that it is at: its name, or the address of the one that is connected to. The caller
 * frees it with farcall_text_free. NULL for NULL. */
char *farcall_data_server(const farcall_data *data);
/* Deletes it now. Calls that have it already go on with it. */
int farcall_data_delete(const farcall_data *data, farcall_error **error);
/* It is not deleted when it is freed: it stays for its lease, or until it is deleted. */
void farcall_data_leave(const farcall_data *data);
void farcall_data_free(farcall_data *data);

#ifdef __cplusplus
}
#endif

#endif
