// Where the handles of a GridRPC client go: what the library says, for C's clients as for Java's.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** What a configuration file of Ninf-G's says of servers, as farcall_grpc_places has it. */
final class Places implements AutoCloseable {
    private static final MethodHandle READ = Native.function("farcall_grpc_places_read", "illl");
    private static final MethodHandle FIND = Native.function("farcall_grpc_places_find", "illilil");
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

    /** The address of the server that has the function or class, of those that the host, if any,
     * and the port, if it is not 0, name; "" for the server of the routine that runs here. */
    String find(String host, int port, String name, boolean ofClass) throws Failure {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = arena.allocate(JAVA_LONG);
            long server = text(arena, host);
            long wanted = text(arena, name);
            int kind = ofClass ? 1 : 0;
            long object = places.use();
            try {
                return answer(
                    (int) FIND.invokeExact(object, server, port, wanted, kind, words.address()),
                    words);
            } catch (Failure failure) {
                throw failure;
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
