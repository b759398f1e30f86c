/* Made from the headers of clients/c/include by clients/python/make_cdef.py, for cffi. */
enum farcall_status { FARCALL_PENDING = -1, FARCALL_OK = 0, FARCALL_INVALID_ARGUMENT = 1,
FARCALL_NOT_FOUND = 2, FARCALL_AMBIGUOUS = 3, FARCALL_PERMISSION_DENIED = 4, FARCALL_UNREACHABLE =
5, FARCALL_CONNECTION_LOST = 6, FARCALL_PROTOCOL = 7, FARCALL_VERSION = 8, FARCALL_LIMIT_EXCEEDED =
9, FARCALL_TIMED_OUT = 10, FARCALL_CANCELLED = 11, FARCALL_ROUTINE_CRASHED = 12,
FARCALL_ROUTINE_EXITED = 13, FARCALL_ROUTINE_FAILED = 14, FARCALL_INTERFACE_CHANGED = 15,
FARCALL_INVALID_SOURCE = 16, FARCALL_UNAVAILABLE = 17, FARCALL_SHUTTING_DOWN = 18, FARCALL_SYSTEM =
19, FARCALL_INTERNAL = 20, FARCALL_DAMAGED = 21 };
enum farcall_element { FARCALL_VOID = 0, FARCALL_CHAR = 1, FARCALL_INT8 = 2, FARCALL_UINT8 = 3,
FARCALL_INT16 = 4, FARCALL_UINT16 = 5, FARCALL_INT32 = 6, FARCALL_UINT32 = 7, FARCALL_INT64 = 8,
FARCALL_UINT64 = 9, FARCALL_FLOAT32 = 10, FARCALL_FLOAT64 = 11, FARCALL_COMPLEX64 = 12,
FARCALL_COMPLEX128 = 13, FARCALL_STRUCT = 14 };
enum farcall_mode { FARCALL_MODE_IN = 0, FARCALL_MODE_OUT = 1, FARCALL_MODE_INOUT = 2,
FARCALL_MODE_WORK = 3 };
enum farcall_parameter_kind { FARCALL_PARAMETER_ABSENT = 0, FARCALL_PARAMETER_NUMBER = 1,
FARCALL_PARAMETER_ARRAY = 2, FARCALL_PARAMETER_TEXT = 3, FARCALL_PARAMETER_FILE = 4,
FARCALL_PARAMETER_CALLBACK = 5, FARCALL_PARAMETER_TEXTS = 6 };
enum farcall_argument_kind { FARCALL_UNSET = 0, FARCALL_INTEGER = 1, FARCALL_REAL = 2,
FARCALL_COMPLEX = 3, FARCALL_RAW = 4, FARCALL_TEXT = 5, FARCALL_TEXTS = 6, FARCALL_NULL = 7,
FARCALL_ARRAY = 8, FARCALL_FUNCTION = 9, FARCALL_CALLBACK = 10, FARCALL_URL = 11, FARCALL_PROCEDURE
= 12, FARCALL_DATA = 13 };
enum farcall_destination { FARCALL_NEW = 0, FARCALL_IN_PLACE = 1, FARCALL_INTO = 2 };
enum farcall_wanted { FARCALL_WANT_PROGRESS = 1, FARCALL_WANT_OUTPUT = 2 };
enum farcall_news_kind { FARCALL_NEWS_QUEUED = 1, FARCALL_NEWS_STARTED = 2, FARCALL_NEWS_PROGRESS =
3, FARCALL_NEWS_STDOUT = 4, FARCALL_NEWS_STDERR = 5, FARCALL_NEWS_OVER = 6, FARCALL_NEWS_KEPT = 7 };
enum farcall_result_kind { FARCALL_RESULT_NONE = 0, FARCALL_RESULT_NULL = 1, FARCALL_RESULT_ARRAY =
2, FARCALL_RESULT_WRITTEN = 3, FARCALL_RESULT_TEXT = 4, FARCALL_RESULT_TEXTS = 5,
FARCALL_RESULT_DATA = 6 };
typedef struct farcall_client farcall_client;
typedef struct farcall_server farcall_server;
typedef struct farcall_routine farcall_routine;
typedef struct farcall_call farcall_call;
typedef struct farcall_results farcall_results;
typedef struct farcall_data farcall_data;
typedef struct farcall_transaction farcall_transaction;
typedef struct farcall_memory farcall_memory;
typedef struct farcall_hold farcall_hold;
typedef struct farcall_error farcall_error;
const char *farcall_version(void);
int farcall_error_kind(const farcall_error *error);
const char *farcall_error_kind_name(const farcall_error *error);
const char *farcall_error_message(const farcall_error *error);
const char *farcall_error_operation(const farcall_error *error);
const char *farcall_error_advice(const farcall_error *error);
int farcall_error_retryable(const farcall_error *error);
int farcall_error_began(const farcall_error *error);
void farcall_error_free(farcall_error *error);
int farcall_connect(const char *address, farcall_client **client, farcall_error **error);
typedef struct farcall_connect_options { size_t size; const char *address; const char *token_file;
double timeout_seconds; double heartbeat_seconds; double reconnect_seconds; const char *settings;
const struct farcall_server_options *here; } farcall_connect_options;
int farcall_connect_with( const farcall_connect_options *options, farcall_client **client,
farcall_error **error);
int farcall_running_server(farcall_client **client, farcall_error **error);
void farcall_close(const farcall_client *client);
void farcall_disconnect(farcall_client *client);
const char *farcall_address(const farcall_client *client);
typedef struct farcall_server_options { size_t size; const char *program; const char *const *files;
size_t file_count; const char *const *arguments; size_t argument_count; double timeout_seconds; }
farcall_server_options;
int farcall_server_start( const farcall_server_options *options, farcall_server **server,
farcall_error **error);
const char *farcall_server_address(const farcall_server *server);
void farcall_server_stop(farcall_server *server);
int farcall_lookup( farcall_client *client, const char *name, farcall_routine **routine,
farcall_error **error);
int farcall_lookup_within(farcall_client *client, const char *name, double timeout_seconds,
farcall_routine **routine, farcall_error **error);
void farcall_routine_free(farcall_routine *routine);
int farcall_list(farcall_client *client, char **json, farcall_error **error);
int farcall_list_within( farcall_client *client, double timeout_seconds, char **json, farcall_error
**error);
void farcall_text_free(char *text);
const char *farcall_routine_name(const farcall_routine *routine);
const char *farcall_routine_json( const farcall_routine *routine);
const char *farcall_routine_help(const farcall_routine *routine);
const char *farcall_routine_signature( const farcall_routine *routine);
const uint8_t *farcall_routine_contract(const farcall_routine *routine);
size_t farcall_routine_parameters(const farcall_routine *routine);
typedef struct farcall_declared { const char *name; uint32_t kind; uint32_t mode; uint32_t element;
uint32_t rank; uint64_t element_bytes; uint32_t column; uint32_t reserved[3]; } farcall_declared;
int farcall_routine_declared( const farcall_routine *routine, size_t index, farcall_declared
*declared);
int farcall_routine_find(const farcall_routine *routine, const char *parameter);
size_t farcall_routine_positional( const farcall_routine *routine, uint32_t *indexes, size_t
capacity);
size_t farcall_routine_passing(const farcall_routine *routine, uint32_t *tags, size_t capacity);
typedef struct farcall_text { const void *data; size_t bytes; } farcall_text;
typedef struct farcall_complex { double real; double imaginary; } farcall_complex;
typedef struct farcall_texts { const farcall_text *items; size_t count; } farcall_texts;
typedef struct farcall_running farcall_running;
typedef void (*farcall_callback_body)(void *context, farcall_running *running);
typedef struct farcall_callback { farcall_callback_body body; void *context; } farcall_callback;
typedef struct farcall_argument { uint32_t kind; uint32_t element; union { int64_t integer; double
real; farcall_complex parts; farcall_text text; farcall_texts texts; void (*function)(void);
farcall_callback callback; } value; void *data; int64_t rank; const uint64_t *shape; const int64_t
*strides; uint32_t destination; uint32_t into_element; void *into; int64_t into_rank; const uint64_t
*into_shape; const int64_t *into_strides; uint64_t reserved[4]; } farcall_argument;
typedef struct farcall_call_options { size_t size; double timeout_seconds; uint32_t announced;
uint32_t wanted; const unsigned char *on; double keep_seconds; uint32_t durable; uint32_t ranks;
const char *label; double run_timeout_seconds; const char *resources; const char *at; const char
*stay; double lease_seconds; } farcall_call_options;
typedef struct farcall_hold_options { size_t size; double lease_seconds; double start_seconds;
uint32_t detached; uint32_t ranks; const char *resources; } farcall_hold_options;
int farcall_hold_start(const farcall_client *client, const char *name, uint32_t count, const
farcall_hold_options *options, farcall_hold **hold, farcall_error **error);
int farcall_hold_ready(const farcall_hold *hold, double timeout_seconds, farcall_error **error);
const char *farcall_hold_name(const farcall_hold *hold);
const char *farcall_hold_server(const farcall_hold *hold);
uint32_t farcall_hold_count(const farcall_hold *hold);
int farcall_hold_id( const farcall_hold *hold, uint32_t index, unsigned char *id, farcall_error
**error);
int farcall_hold_release(const farcall_hold *hold, double timeout_seconds, farcall_error **error);
void farcall_hold_free(farcall_hold *hold);
int farcall_call_arguments(const farcall_routine *routine, const farcall_argument *arguments, size_t
count, const farcall_call_options *options, farcall_results **results, farcall_error **error);
int farcall_start_arguments(const farcall_routine *routine, const farcall_argument *arguments,
size_t count, const farcall_call_options *options, farcall_call **call, farcall_error **error);
int farcall_start_within(const farcall_routine *routine, const farcall_argument *arguments, size_t
count, const farcall_call_options *options, double wait_seconds, farcall_call **call, farcall_error
**error);
int farcall_explain(const farcall_routine *routine, const farcall_argument *arguments, size_t count,
char **json, farcall_error **error);
int farcall_call_wait(farcall_call *call, double timeout_seconds, farcall_results **results,
farcall_error **error);
int farcall_call_poll(farcall_call *call, farcall_results **results, farcall_error **error);
typedef struct farcall_news { uint32_t kind; uint32_t before; double done; const char *text; size_t
bytes; uint64_t reserved[2]; } farcall_news;
int farcall_call_news( farcall_call *call, double timeout_seconds, farcall_news *news, farcall_error
**error);
int farcall_call_cancel(farcall_call *call, farcall_error **error);
uint64_t farcall_call_number(const farcall_call *call);
typedef struct farcall_transfer { uint64_t sent; uint64_t to_send; uint64_t received; uint64_t
to_receive; double callback_arguments_seconds; double callback_results_seconds; uint64_t
reserved[2]; } farcall_transfer;
int farcall_call_transfer( const farcall_call *call, farcall_transfer *transfer, farcall_error
**error);
void farcall_call_free(farcall_call *call);
int farcall_call_wait_kept(farcall_call *call, double timeout_seconds, farcall_error **error);
int farcall_call_id(const farcall_call *call, char *id);
int farcall_fetch(farcall_client *client, const char *id, const farcall_call_options *options,
farcall_routine **routine, farcall_call **call, farcall_error **error);
int farcall_forget(farcall_client *client, const char *id, farcall_error **error);
int farcall_kept(farcall_client *client, char **json, farcall_error **error);
int farcall_kept_by_server( farcall_client *client, char **json, char **silent, farcall_error
**error);
typedef struct farcall_publish_options { size_t size; const char *source; double timeout_seconds;
uint32_t stay; uint32_t reserved; const char *known_as; } farcall_publish_options;
int farcall_publish(farcall_client *client, const char *file, const farcall_publish_options
*options, char **json, farcall_error **error);
int farcall_events(const farcall_client *client);
int farcall_process(farcall_client *client, farcall_error **error);
int farcall_next_finished( farcall_client *client, double timeout_seconds, uint64_t *number,
farcall_error **error);
typedef struct farcall_array_view { void *data; uint32_t element; uint32_t rank; uint64_t
element_bytes; uint64_t shape[32]; int64_t strides[32]; } farcall_array_view;
typedef struct farcall_times { uint64_t queued; uint64_t started; uint64_t finished; }
farcall_times;
int farcall_results_kind(const farcall_results *results, size_t parameter);
int farcall_results_array(const farcall_results *results, size_t parameter, farcall_array_view
*view, farcall_error **error);
int farcall_results_take(const farcall_results *results, size_t parameter, farcall_array_view *view,
farcall_memory **memory, farcall_error **error);
int farcall_memory_allocate( size_t bytes, void **data, farcall_memory **memory, farcall_error
**error);
void farcall_memory_free(farcall_memory *memory);
const char *farcall_results_text( const farcall_results *results, size_t parameter, size_t index,
size_t *bytes);
size_t farcall_results_text_count(const farcall_results *results, size_t parameter);
int farcall_results_times(const farcall_results *results, farcall_times *times);
const char *farcall_results_server(const farcall_results *results);
typedef struct farcall_phases { double send; double wait; double run; double back; } farcall_phases;
typedef struct farcall_placed { farcall_phases predicted; farcall_phases measured; double error; }
farcall_placed;
int farcall_results_placed(const farcall_results *results, farcall_placed *placed);
void farcall_results_free(farcall_results *results);
int farcall_put(const farcall_client *client, const farcall_argument *array, const
farcall_call_options *options, farcall_data **data, farcall_error **error);
int farcall_find_data( const farcall_client *client, const char *id, farcall_data **data,
farcall_error **error);
int farcall_find_several_data(const farcall_client *client, const char *const *ids, size_t count,
farcall_data **data, farcall_error **error);
int farcall_data_list(const farcall_client *client, char **json, farcall_error **error);
int farcall_call_data( const farcall_call *call, size_t parameter, farcall_data **data,
farcall_error **error);
int farcall_results_data( const farcall_results *results, size_t parameter, farcall_data **data,
farcall_error **error);
int farcall_data_fetch(const farcall_data *data, const farcall_call_options *options,
farcall_routine **routine, farcall_call **call, farcall_error **error);
int farcall_data_id(const farcall_data *data, char *id);
uint32_t farcall_data_element(const farcall_data *data);
size_t farcall_data_rank(const farcall_data *data);
const uint64_t *farcall_data_extents(const farcall_data *data);
char *farcall_data_server(const farcall_data *data);
int farcall_data_delete(const farcall_data *data, farcall_error **error);
void farcall_data_leave(const farcall_data *data);
void farcall_data_free(farcall_data *data);
int farcall_transaction_new( const farcall_client *client, farcall_transaction **transaction,
farcall_error **error);
int farcall_transaction_call(farcall_transaction *transaction, const farcall_routine *routine, const
farcall_argument *arguments, size_t count, const uint32_t *after, size_t after_count, uint32_t
*number, farcall_error **error);
int farcall_transaction_result(farcall_transaction *transaction, uint32_t call, size_t parameter,
farcall_data **data, farcall_error **error);
int farcall_transaction_want( farcall_transaction *transaction, uint32_t call, size_t parameter,
farcall_error **error);
typedef struct farcall_transaction_options { size_t size; double keep_seconds; double
timeout_seconds; } farcall_transaction_options;
int farcall_transaction_begin(farcall_transaction *transaction, const farcall_transaction_options
*options, farcall_error **error);
int farcall_transaction_wait( farcall_transaction *transaction, double timeout_seconds,
farcall_error **error);
int farcall_transaction_done(farcall_transaction *transaction, int *done, farcall_error **error);
int farcall_transaction_id(const farcall_transaction *transaction, char *id);
void farcall_transaction_leave(const farcall_transaction *transaction);
int farcall_transaction_end(farcall_transaction *transaction, farcall_error **error);
void farcall_transaction_free(farcall_transaction *transaction);
int farcall_transactions_list( const farcall_client *client, const char *id, char **json,
farcall_error **error);
int farcall_transactions_timeline( const farcall_client *client, const char *id, char **json,
farcall_error **error);
int farcall_transactions_results( const farcall_client *client, const char *id, char **json,
farcall_error **error);
int farcall_transactions_end(const farcall_client *client, const char *id, farcall_error **error);
typedef struct farcall_step { int64_t data; int64_t into; } farcall_step;
typedef int (*farcall_map_done)(void *context, size_t element, int status, const farcall_results
*results, const farcall_error *error);
typedef struct farcall_map_options { size_t size; const farcall_call_options *call; size_t window;
uint32_t goes_on; uint32_t reserved; farcall_map_done done; void *context; } farcall_map_options;
int farcall_map(const farcall_routine *routine, size_t count, const farcall_argument *arguments,
const farcall_step *steps, size_t parameters, const farcall_map_options *options, int *statuses,
farcall_error **error);
typedef struct farcall_farm farcall_farm;
typedef struct farcall_outcome { uint64_t element; int32_t status; uint32_t server; farcall_results
*results; farcall_error *error; farcall_times times; } farcall_outcome;
typedef struct farcall_number { double bytes[2]; } farcall_number;
int farcall_farm_open(const farcall_routine *routine, const farcall_call_options *options,
farcall_farm **farm, farcall_error **error);
int farcall_farm_start(farcall_farm *farm, uint64_t first, size_t count, const farcall_argument
*arguments, const farcall_step *steps, size_t parameters, double wait_seconds, size_t *started,
farcall_error **error);
int farcall_farm_next(farcall_farm *farm, double timeout_seconds, farcall_outcome *outcomes, size_t
capacity, farcall_number *numbers, size_t *count, farcall_error **error);
size_t farcall_farm_under_way(const farcall_farm *farm);
const char *farcall_farm_server(const farcall_farm *farm, uint32_t server);
void farcall_farm_free(farcall_farm *farm);
typedef struct farcall_place { void *object; void (*free)(void *object); int64_t process; }
farcall_place;
void farcall_place_clear(void *place);
typedef struct farcall_grpc_places farcall_grpc_places;
int farcall_grpc_places_read(const char *file, farcall_grpc_places **places, char **words);
int farcall_grpc_places_connect(const farcall_grpc_places *places, const char *wanted, const char
*name, int of_class, farcall_client **client, char **words);
void farcall_grpc_places_note(const farcall_grpc_places *places, int place, const char *line);
void farcall_grpc_places_free(farcall_grpc_places *places);
int farcall_is_cancelled(void);
int farcall_progress(double done, const char *words);
int farcall_callback_failed(void);
int farcall_callback_failure(char *words, size_t words_bytes);
struct farcall_entry { const char *name; void (*function)(void); };
int farcall_executable_main( int argc, char **argv, const struct farcall_entry *entries, size_t
count);
struct farcall_ranks { size_t size; int (*begin)(int *rank, int *count); int (*announce)(long long
*word); int (*broadcast)(void *bytes, size_t count, int root); int (*agree)(int *failed); int
(*end)(void); void (*abort)(int status); };
void farcall_executable_ranks(const struct farcall_ranks *ranks);
int farcall_stub_main(int argc, char **argv, const struct farcall_entry *entries, size_t count,
const unsigned char *module, size_t module_bytes);
typedef struct farcall_running farcall_running;
typedef struct farcall_parameter { const char *name; void *data; uint32_t kind; uint32_t mode;
uint32_t element; uint32_t rank; uint64_t element_bytes; uint64_t shape[32]; int64_t strides[32]; }
farcall_parameter;
typedef const char *(*farcall_load)(void *context, const char *file, const char *source);
typedef void (*farcall_body)(void *context, const char *routine, farcall_running *running);
int farcall_executable_serve(farcall_load load, farcall_body body, void *context);
size_t farcall_running_parameters(const farcall_running *running);
int farcall_running_parameter( const farcall_running *running, size_t index, farcall_parameter
*parameter);
int farcall_running_answer(farcall_running *running, size_t index, const char *text, size_t bytes);
int farcall_running_answer_at( farcall_running *running, size_t index, size_t element, const char
*text, size_t bytes);
void farcall_running_fail(farcall_running *running, const char *words);
const char *farcall_running_json(const farcall_running *running);
int farcall_running_arrange(const farcall_running *running, size_t index, farcall_parameter
*parameters, size_t count, char *words, size_t words_bytes);
int farcall_running_call(const farcall_running *running, size_t index, void **addresses, size_t
count, char *words, size_t words_bytes);
typedef int (*farcall_door)(char *words, size_t words_bytes);
void farcall_executable_door(farcall_door door);
typedef struct farcall_host { size_t size; farcall_door server; int (*is_cancelled)(void); int
(*progress)(double done, const char *words); int (*callback_failed)(void); int
(*callback_failure)(char *words, size_t words_bytes); } farcall_host;
void farcall_executable_host(const farcall_host *host);
