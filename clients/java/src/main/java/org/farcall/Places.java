// Where the handles of a GridRPC client go: what the library says, for C's clients as for Java's.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** What a configuration file of Ninf-G's says of servers, as farcall_grpc_places has it. */
final class Places implements AutoCloseable {
    private static final MethodHandle READ = Native.function("farcall_grpc_places_read", "illl");
    private static final MethodHandle CONNECT =
        Native.function("farcall_grpc_places_connect", "illlill");
    private static final MethodHandle NOTE = Native.function("farcall_grpc_places_note", "vlil");
    private static final MethodHandle FREE = Native.function("farcall_grpc_places_free", "vl");

    /** Why a file cannot be read, or who has no such name: a code of grpc.h, and words. */
    static final class Failure extends Exception {
        private static final long serialVersionUID = 1L;
        final int code;

        Failure(int code, String words) {
            super(words);
            this.code = code;
        }
    }

    /** A server that has a name: the connection to it, which is the caller's, and what holds for
     * calls there. */
    record Found(Handle client, Terms terms) {}

    private final Handle places;

    private Places(long object) {
        places = new Handle(object, FREE);
    }

    /** Reads a file; "" for what the environment or the home folder has, if anything; null for
     * none. */
    static Places read(String file) throws Failure {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(JAVA_LONG);
            MemorySegment words = arena.allocate(JAVA_LONG);
            long name = text(arena, file);
            int code = Native.status(READ, name, place.address(), words.address());
            answer(code, words);
            return new Places(place.get(JAVA_LONG, 0));
        }
    }

    /** What connecting came to. */
    private record Outcome(Found found, Failure failure) {}

    /**
     * Connects to the server that has the function or class, as the configuration says. `wanted` has what a handle's
     * properties ask for: NAME=VALUE in each line. From a virtual thread this waits in another one.
     */
    Found connect(String wanted, String name, boolean ofClass) throws Failure {
        Outcome outcome = Connection.apart(() -> {
            try {
                return new Outcome(connected(wanted, name, ofClass), null);
            } catch (Failure failure) {
                return new Outcome(null, failure);
            }
        });
        if (outcome.failure != null) {
            throw outcome.failure;
        }
        return outcome.found;
    }

    private Found connected(String wanted, String name, boolean ofClass) throws Failure {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment client = arena.allocate(JAVA_LONG);
            MemorySegment words = arena.allocate(JAVA_LONG);
            long lines = text(arena, wanted);
            long asked = text(arena, name);
            int kind = ofClass ? 1 : 0;
            long object = places.use();
            try {
                int code = (int) CONNECT.invokeExact(
                    object, lines, asked, kind, client.address(), words.address());
                Terms terms = Terms.of(answer(code, words));
                return new Found(
                    new Handle(client.get(JAVA_LONG, 0), Native.FREE_CLIENT), terms);
            } catch (Failure failure) {
                throw failure;
            } catch (Throwable error) {
                throw Native.impossible(error);
            } finally {
                places.done();
            }
        }
    }

    /** Writes a line to the log of what goes to a server and comes from it. */
    void note(int place, String line) {
        try (Arena arena = Arena.ofConfined()) {
            long words = arena.allocateFrom(line.replace('\0', ' ')).address();
            long object = places.use();
            try {
                NOTE.invokeExact(object, place, words);
            } catch (Throwable error) {
                throw Native.impossible(error);
            } finally {
                places.done();
            }
        }
    }

    /** Private servers that it has started end. */
    @Override
    public void close() {
        places.close();
    }

    private static long text(Arena arena, String given) throws Failure {
        if (given == null) {
            return 0;
        }
        if (given.indexOf('\0') >= 0) {
            throw new Failure(Numbers.GRPC_OTHER_ERROR_CODE, "a name contains a NUL");
        }
        return arena.allocateFrom(given).address();
    }

    /** The words that the library answered with, or the failure that they tell of. */
    private static String answer(int code, MemorySegment place) throws Failure {
        long words = place.get(JAVA_LONG, 0);
        String said = Native.text(words);
        Native.free(Native.FREE_TEXT, words);
        if (code != 0) {
            throw new Failure(code, said);
        }
        return said;
    }
}
