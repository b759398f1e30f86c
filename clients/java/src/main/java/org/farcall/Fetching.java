// Calls that go on without the program, taken up again by their ids.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/** Takes up kept calls, and has them forgotten. */
final class Fetching {
    private static final MemorySegment MEMORY = Native.MEMORY;

    private Fetching() {}

    static CallFuture fetch(Server server, Connection connection, String id) {
        Scratch scratch = connection.memory.scratch();
        try {
            long routine = scratch.allocate(8);
            long call = scratch.allocate(8);
            long error = scratch.allocate(8);
            long options = scratch.zeroed(Prepared.OPTIONS_BYTES);
            MEMORY.set(JAVA_LONG, options, Prepared.OPTIONS_BYTES);
            // Announced: the future completes as any other.
            MEMORY.set(java.lang.foreign.ValueLayout.JAVA_INT, options + 16, 1);
            long text = scratch.text(id);
            Connection.apart(
                ()
                    -> Native.check(
                        connection.with(
                            client -> Native.fetch(client, text, options, routine, call, error)),
                        error));
            Handle called =
                connection.own(new Handle(MEMORY.get(JAVA_LONG, routine), Native.FREE_ROUTINE));
            Routine described = new Routine(server, connection, called);
            CallFuture future = new CallFuture();
            Prepared prepared = new Prepared(described.with(), true, MEMORY.get(JAVA_LONG, call));
            future.prepared(prepared);
            future.fetched(id);
            return future;
        } finally {
            connection.memory.give(scratch, false);
        }
    }

    static void forget(Connection connection, String id) {
        Scratch scratch = connection.memory.scratch();
        try {
            long error = scratch.allocate(8);
            long text = scratch.text(id);
            Connection.apart(
                ()
                    -> Native.check(
                        connection.with(client -> Native.forget(client, text, error)), error));
        } finally {
            connection.memory.give(scratch, false);
        }
    }
}
