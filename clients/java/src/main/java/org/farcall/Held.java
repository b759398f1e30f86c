// What a server holds for this program: an object, or an array of function handles.
package org.farcall;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** Executables that are held. They end when they are released, or without waiting for that when
 * nobody refers to them. */
final class Held {
    private static final int ID_BYTES = 16;

    final Connection connection;
    final String name;
    private final Terms.Start start;
    private final Handle handle;
    private final Cleaner.Cleanable cleanable;
    private final AtomicBoolean released = new AtomicBoolean();
    /** How many of them somebody still wants. */
    private final AtomicInteger wanted;

    Held(
        Connection connection, String name, int count, String resources, Terms.Start start) {
        this.connection = connection;
        this.start = start;
        wanted = new AtomicInteger(count);
        handle = connection.hold(name, count, resources, start);
        String full = connection.with(handle, Native::holdName);
        this.name = full == null ? name : full;
        Handle own = handle;
        cleanable = Connection.CLEANER.register(this, () -> {
            own.close();
            connection.disown(own);
        });
    }

    /** Waits until all take calls. */
    void waitReady() {
        Scratch scratch = connection.memory.scratch();
        try {
            long error = scratch.allocate(8);
            connection.waitFor(seconds
                -> connection.with(handle, hold -> Native.holdReady(hold, seconds, error)),
                error);
        } finally {
            connection.memory.give(scratch, false);
        }
    }

    /** The 16 bytes of the id of one of them. */
    byte[] id(int index) {
        if (released.get()) {
            throw gone();
        }
        Scratch scratch = connection.memory.scratch();
        try {
            long error = scratch.allocate(8);
            long place = scratch.allocate(ID_BYTES);
            Native.check(
                connection.with(handle, hold -> Native.holdId(hold, index, place, error)), error);
            return Native.bytes(place, ID_BYTES);
        } finally {
            connection.memory.give(scratch, false);
        }
    }

    /** What a call is told that comes too late. */
    FarcallException gone() {
        return FarcallException.of(
            ErrorKind.NOT_FOUND, "call", "it was closed", "make another one", "object", name);
    }

    private int release(long error) {
        return Native.check(
            connection.with(
                handle, hold -> Native.holdRelease(hold, start.stopSeconds(), error)),
            error);
    }

    /** One of them is not wanted any more; with the last of them they end. */
    void leave() {
        if (wanted.decrementAndGet() == 0) {
            close();
        }
    }

    /** Ends them, and calls under way on them, and waits until they have, unless they were to be
     * waited for less long. */
    void close() {
        if (!released.compareAndSet(false, true)) {
            return;
        }
        Scratch scratch = connection.memory.scratch();
        try {
            long error = scratch.allocate(8);
            if (!connection.isClosed()) {
                // In one go: a second request for the end is told that it came.
                Connection.apart(() -> release(error));
            }
        } catch (FarcallException error) {
            // It may have ended before: its lease was over, or somebody deleted it.
            boolean isUnasked = error.kind() == ErrorKind.TIMED_OUT && start.stopSeconds() == 0;
            if (error.kind() != ErrorKind.NOT_FOUND && !isUnasked) {
                throw error;
            }
        } finally {
            connection.memory.give(scratch, false);
            cleanable.clean();
        }
    }
}
