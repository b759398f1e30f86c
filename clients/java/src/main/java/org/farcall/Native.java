// The C interface (clients/c/include/farcall.h) as static methods: addresses are longs, and nothing
// is generated.
package org.farcall;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.charset.StandardCharsets;

/**
 * The functions of libfarcall that this client uses. A pointer is a `long` here: as an argument it costs nothing to check,
 * and what it points to is read and written through {@link #MEMORY}. Structures have the offsets of spec/c-abi.md.
 */
final class Native {
    /** All of memory: an address is an offset. */
    static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final ValueLayout.OfDouble DOUBLE = ValueLayout.JAVA_DOUBLE;
    private static final Linker LINKER = Linker.nativeLinker();

    // `l` is a pointer or a size_t, `i` an int, `d` a double, `v` nothing; the result comes first.
    private static final MethodHandle VERSION = function("farcall_version", "l");
    private static final MethodHandle ERROR_KIND = function("farcall_error_kind", "il");
    private static final MethodHandle ERROR_MESSAGE = function("farcall_error_message", "ll");
    private static final MethodHandle ERROR_OPERATION = function("farcall_error_operation", "ll");
    private static final MethodHandle ERROR_ADVICE = function("farcall_error_advice", "ll");
    private static final MethodHandle ERROR_RETRYABLE = function("farcall_error_retryable", "il");
    private static final MethodHandle CONNECT = function("farcall_connect_with", "illl");
    private static final MethodHandle RUNNING_SERVER = function("farcall_running_server", "ill");
    private static final MethodHandle ADDRESS = function("farcall_address", "ll");
    private static final MethodHandle SERVER_START = function("farcall_server_start", "illl");
    private static final MethodHandle SERVER_ADDRESS = function("farcall_server_address", "ll");
    private static final MethodHandle LOOKUP = function("farcall_lookup_within", "illdll");
    private static final MethodHandle LIST = function("farcall_list_within", "ildll");
    private static final MethodHandle ROUTINE_JSON = function("farcall_routine_json", "ll");
    private static final MethodHandle ROUTINE_HELP = function("farcall_routine_help", "ll");
    private static final MethodHandle ROUTINE_SIGNATURE =
        function("farcall_routine_signature", "ll");
    private static final MethodHandle START = function("farcall_start_within", "illlldll");
    private static final MethodHandle CALL_WAIT = function("farcall_call_wait", "ildll");
    private static final MethodHandle CALL_NEWS = function("farcall_call_news", "ildll");
    private static final MethodHandle CALL_CANCEL = function("farcall_call_cancel", "ill");
    private static final MethodHandle CALL_NUMBER = function("farcall_call_number", "ll");
    private static final MethodHandle CALL_TRANSFER = function("farcall_call_transfer", "illl");
    private static final MethodHandle CALL_WAIT_KEPT = function("farcall_call_wait_kept", "ildl");
    private static final MethodHandle CALL_ID = function("farcall_call_id", "ill");
    private static final MethodHandle FETCH = function("farcall_fetch", "illllll");
    private static final MethodHandle FORGET = function("farcall_forget", "illl");
    private static final MethodHandle NEXT_FINISHED = function("farcall_next_finished", "ildll");
    private static final MethodHandle RESULTS_KIND = function("farcall_results_kind", "ill");
    private static final MethodHandle RESULTS_ARRAY = function("farcall_results_array", "illll");
    private static final MethodHandle RESULTS_TEXT = function("farcall_results_text", "lllll");
    private static final MethodHandle RESULTS_TEXT_COUNT =
        function("farcall_results_text_count", "lll");
    private static final MethodHandle RESULTS_TIMES = function("farcall_results_times", "ill");
    private static final MethodHandle RESULTS_SERVER = function("farcall_results_server", "ll");
    private static final MethodHandle MEMORY_ALLOCATE =
        function("farcall_memory_allocate", "illll");
    private static final MethodHandle HOLD_START = function("farcall_hold_start", "illilll");
    private static final MethodHandle HOLD_READY = function("farcall_hold_ready", "ildl");
    private static final MethodHandle HOLD_NAME = function("farcall_hold_name", "ll");
    private static final MethodHandle HOLD_ID = function("farcall_hold_id", "ilill");
    private static final MethodHandle HOLD_RELEASE = function("farcall_hold_release", "ildl");
    private static final MethodHandle RUNNING_PARAMETER =
        function("farcall_running_parameter", "illl");
    private static final MethodHandle RUNNING_ANSWER = function("farcall_running_answer", "illll");
    private static final MethodHandle RUNNING_ANSWER_AT =
        function("farcall_running_answer_at", "illlll");
    private static final MethodHandle RUNNING_FAIL = function("farcall_running_fail", "vll");

    // What frees each kind of object.
    static final MethodHandle FREE_ERROR = function("farcall_error_free", "vl");
    static final MethodHandle FREE_CLIENT = function("farcall_disconnect", "vl");
    static final MethodHandle FREE_SERVER = function("farcall_server_stop", "vl");
    static final MethodHandle FREE_ROUTINE = function("farcall_routine_free", "vl");
    static final MethodHandle FREE_CALL = function("farcall_call_free", "vl");
    static final MethodHandle FREE_RESULTS = function("farcall_results_free", "vl");
    static final MethodHandle FREE_MEMORY = function("farcall_memory_free", "vl");
    static final MethodHandle FREE_HOLD = function("farcall_hold_free", "vl");
    static final MethodHandle FREE_TEXT = function("farcall_text_free", "vl");

    /** The C function that runs all functions of Java's that are passed to routines; see {@link
     * Passed}. */
    static final long CALLBACK = upcall();

    private Native() {}

    /** A handle of a C function, by its name and types; the library is loaded by the first. */
    static MethodHandle function(String name, String types) {
        MemoryLayout[] arguments = new MemoryLayout[types.length() - 1];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = layout(types.charAt(i + 1));
        }
        FunctionDescriptor descriptor = types.charAt(0) == 'v'
            ? FunctionDescriptor.ofVoid(arguments)
            : FunctionDescriptor.of(layout(types.charAt(0)), arguments);
        MemorySegment symbol = Library.symbols().find(name).orElseThrow(() -> old(name));
        return LINKER.downcallHandle(symbol, descriptor);
    }

    /** The layout of a type. */
    private static MemoryLayout layout(char type) {
        return type == 'i' ? INT : type == 'd' ? DOUBLE : LONG;
    }

    /** The library lacks a function. */
    private static FarcallException old(String name) {
        String advice = "name that of this version with -D" + Library.PROPERTY + "=FILE";
        return FarcallException.of(ErrorKind.VERSION, "load the library",
            "it has no " + name + ": it is older than this client", advice);
    }

    /** Makes the C function that calls {@link Passed#run}; it lives as long as the process. */
    private static long upcall() {
        try {
            MethodType type = MethodType.methodType(void.class, long.class, long.class);
            MethodHandle run = MethodHandles.lookup().findStatic(Passed.class, "run", type);
            return LINKER.upcallStub(run, FunctionDescriptor.ofVoid(LONG, LONG), Arena.global())
                .address();
        } catch (ReflectiveOperationException error) {
            throw new AssertionError("Passed.run is a method of this client", error);
        }
    }

    /** What a downcall may throw that is no mistake of ours: nothing. */
    static AssertionError impossible(Throwable error) {
        if (error instanceof Error fatal) {
            throw fatal;
        }
        return new AssertionError("a C function threw", error);
    }

    // ---- Calls by shape: one method for each combination of types, all of them inlined
    // ---------------------------------

    /** Runs one of the functions that free. */
    static void free(MethodHandle function, long object) {
        try {
            function.invokeExact(object);
        } catch (Throwable error) {
            throw impossible(error);
        }
    }

    /** Runs a function of three addresses that gives a number. */
    static int status(MethodHandle function, long first, long second, long third) {
        try {
            return (int) function.invokeExact(first, second, third);
        } catch (Throwable error) {
            throw impossible(error);
        }
    }

    /** farcall_version. */
    static String version() {
        try {
            return text((long) VERSION.invokeExact());
        } catch (Throwable error) {
            throw impossible(error);
        }
    }

    /** farcall_connect_with: `client` is the place of the client. */
    static int connect(long options, long client, long error) {
        try {
            return (int) CONNECT.invokeExact(options, client, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_running_server. */
    static int runningServer(long client, long error) {
        try {
            return (int) RUNNING_SERVER.invokeExact(client, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_address, copied. */
    static String address(long client) {
        return textOf(ADDRESS, client);
    }

    /** farcall_server_start: waits until the server listens. */
    static int serverStart(long options, long server, long error) {
        try {
            return (int) SERVER_START.invokeExact(options, server, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_server_address, copied. */
    static String serverAddress(long server) {
        return textOf(SERVER_ADDRESS, server);
    }

    /** farcall_lookup_within: PENDING if there is no answer in so many seconds. */
    static int lookup(long client, long name, double seconds, long routine, long error) {
        try {
            return (int) LOOKUP.invokeExact(client, name, seconds, routine, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_list_within: the text at `json` is to be freed. */
    static int list(long client, double seconds, long json, long error) {
        try {
            return (int) LIST.invokeExact(client, seconds, json, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_routine_json, copied. */
    static String routineJson(long routine) {
        return textOf(ROUTINE_JSON, routine);
    }

    /** farcall_routine_help, copied. */
    static String routineHelp(long routine) {
        return textOf(ROUTINE_HELP, routine);
    }

    /** farcall_routine_signature, copied. */
    static String routineSignature(long routine) {
        return textOf(ROUTINE_SIGNATURE, routine);
    }

    /** farcall_start_within: PENDING, and no call, if there is no room for it by then. */
    static int start(long routine, long arguments, long count, long options, double seconds,
        long call, long error)
    {
        try {
            return (int) START.invokeExact(
                routine, arguments, count, options, seconds, call, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_call_wait: the outcome is given once; PENDING if the call is not over by then. */
    static int callWait(long call, double seconds, long results, long error) {
        try {
            return (int) CALL_WAIT.invokeExact(call, seconds, results, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_call_news. */
    static int callNews(long call, double seconds, long news, long error) {
        try {
            return (int) CALL_NEWS.invokeExact(call, seconds, news, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** Asks the server to end a call; whether it could be asked shows in the call's outcome. */
    static void callCancel(long call) {
        try {
            int ignored = (int) CALL_CANCEL.invokeExact(call, 0L);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_call_number: what {@link #nextFinished} tells. */
    static long callNumber(long call) {
        try {
            return (long) CALL_NUMBER.invokeExact(call);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_call_transfer: 64 bytes. */
    static int callTransfer(long call, long transfer, long error) {
        return status(CALL_TRANSFER, call, transfer, error);
    }

    /** farcall_call_wait_kept. */
    static int callWaitKept(long call, double seconds, long error) {
        try {
            return (int) CALL_WAIT_KEPT.invokeExact(call, seconds, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_call_id: 1 and 33 bytes at `id`, or 0. */
    static int callId(long call, long id) {
        try {
            return (int) CALL_ID.invokeExact(call, id);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_fetch. */
    static int fetch(long client, long id, long options, long routine, long call, long error) {
        try {
            return (int) FETCH.invokeExact(client, id, options, routine, call, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_forget. */
    static int forget(long client, long id, long error) {
        try {
            return (int) FORGET.invokeExact(client, id, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_next_finished: the number of a call that is over. */
    static int nextFinished(long client, double seconds, long number, long error) {
        try {
            return (int) NEXT_FINISHED.invokeExact(client, seconds, number, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_results_kind. */
    static int resultsKind(long results, long parameter) {
        try {
            return (int) RESULTS_KIND.invokeExact(results, parameter);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_results_array: 536 bytes at `view`. */
    static int resultsArray(long results, long parameter, long view, long error) {
        try {
            return (int) RESULTS_ARRAY.invokeExact(results, parameter, view, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_results_text: its address, which belongs to the results, or 0. */
    static long resultsText(long results, long parameter, long index, long bytes) {
        try {
            return (long) RESULTS_TEXT.invokeExact(results, parameter, index, bytes);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_results_text_count. */
    static long resultsTextCount(long results, long parameter) {
        try {
            return (long) RESULTS_TEXT_COUNT.invokeExact(results, parameter);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_results_times: 24 bytes. */
    static int resultsTimes(long results, long times) {
        try {
            return (int) RESULTS_TIMES.invokeExact(results, times);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_results_server. */
    static String resultsServer(long results) {
        return textOf(RESULTS_SERVER, results);
    }

    /** farcall_memory_allocate: where it lies, and the handle that frees it. */
    static int memoryAllocate(long bytes, long data, long memory, long error) {
        try {
            return (int) MEMORY_ALLOCATE.invokeExact(bytes, data, memory, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_hold_start. */
    static int holdStart(long client, long name, int count, long options, long hold, long error) {
        try {
            return (int) HOLD_START.invokeExact(client, name, count, options, hold, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_hold_ready. */
    static int holdReady(long hold, double seconds, long error) {
        try {
            return (int) HOLD_READY.invokeExact(hold, seconds, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_hold_name, copied. */
    static String holdName(long hold) {
        return textOf(HOLD_NAME, hold);
    }

    /** farcall_hold_id: 16 bytes. */
    static int holdId(long hold, int index, long id, long error) {
        try {
            return (int) HOLD_ID.invokeExact(hold, index, id, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_hold_release. */
    static int holdRelease(long hold, double seconds, long error) {
        try {
            return (int) HOLD_RELEASE.invokeExact(hold, seconds, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_running_parameter: 552 bytes. */
    static int runningParameter(long running, long index, long parameter) {
        try {
            return (int) RUNNING_PARAMETER.invokeExact(running, index, parameter);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_running_answer. */
    static int runningAnswer(long running, long index, long text, long bytes) {
        try {
            return (int) RUNNING_ANSWER.invokeExact(running, index, text, bytes);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_running_answer_at. */
    static int runningAnswerAt(long running, long index, long element, long text, long bytes) {
        try {
            return (int) RUNNING_ANSWER_AT.invokeExact(running, index, element, text, bytes);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** farcall_running_fail. */
    static void runningFail(long running, long words) {
        try {
            RUNNING_FAIL.invokeExact(running, words);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    /** What a function of one object says, as a String of its own. */
    private static String textOf(MethodHandle function, long object) {
        try {
            return text((long) function.invokeExact(object));
        } catch (Throwable error) {
            throw impossible(error);
        }
    }

    // ---- Text and errors
    // ---------------------------------------------------------------------------------------------

    /** Text of C's as a String; null for NULL. */
    static String text(long address) {
        return address == 0 ? null : MEMORY.getString(address, StandardCharsets.UTF_8);
    }

    /** So many bytes from an address on. */
    static byte[] bytes(long address, long count) {
        byte[] bytes = new byte[Math.toIntExact(count)];
        MemorySegment.copy(MEMORY, ValueLayout.JAVA_BYTE, address, bytes, 0, bytes.length);
        return bytes;
    }

    /** Passes OK and PENDING on, and throws everything else; the error object lies in the place
     * that the function was given. */
    static int check(int status, long errorPlace) {
        if (status > Numbers.OK) {
            throw error(status, MEMORY.get(LONG, errorPlace));
        }
        return status;
    }

    /** The exception for an error object, which is freed. */
    static FarcallException error(int status, long error) {
        if (error == 0) {
            return FarcallException.of(ErrorKind.of(status), "call",
                "status " + status + " without an error object", null);
        }
        try {
            ErrorKind kind = ErrorKind.of((int) ERROR_KIND.invokeExact(error));
            boolean retryable = (int) ERROR_RETRYABLE.invokeExact(error) != 0;
            return new FarcallException(kind, textOf(ERROR_MESSAGE, error),
                textOf(ERROR_OPERATION, error), textOf(ERROR_ADVICE, error), retryable);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        } finally {
            free(FREE_ERROR, error);
        }
    }
}
