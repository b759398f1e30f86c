// How calls are made: by the thread that waits, or as futures.
package org.farcall;

import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

/** Makes calls. A platform thread waits in C; a virtual one never does, so that it never holds its
 * carrier. */
final class Calling {
    private Calling() {}

    /** Waits in this thread: in slices, between which it looks for interrupts and the end of the
     * connection. */
    static Results call(Arguments arguments) {
        if (Thread.currentThread().isVirtual()) {
            return callParked(arguments);
        }
        Prepared prepared = new Prepared(arguments, false);
        try {
            while (prepared.start(Connection.SLICE_SECONDS) == Numbers.PENDING) {
                prepared.connection.check();
            }
            while (prepared.listener.wanted() != 0 && !prepared.news(Connection.SLICE_SECONDS)) {
                prepared.connection.check();
            }
            Results results = prepared.outcome(Connection.SLICE_SECONDS);
            while (results == null) {
                prepared.connection.check();
                results = prepared.outcome(Connection.SLICE_SECONDS);
            }
            return results;
        } finally {
            prepared.close();
        }
    }

    /** The same for a virtual thread, which parks. */
    private static Results callParked(Arguments arguments) {
        CallFuture future = submit(arguments, prepared -> {});
        try {
            return future.get();
        } catch (InterruptedException error) {
            future.cancel(true);
            Thread.currentThread().interrupt();
            throw Connection.interrupted();
        } catch (ExecutionException error) {
            throw Connection.thrown(error.getCause());
        }
    }

    /** Whatever goes wrong is the future's. */
    static CallFuture submit(Arguments arguments) {
        return submit(arguments, Prepared::refuseConfined);
    }

    private static CallFuture submit(Arguments arguments, Consumer<Prepared> check) {
        CallFuture future = new CallFuture();
        try {
            Prepared prepared = new Prepared(arguments, true);
            future.prepared(prepared);
            check.accept(prepared);
            start(future, prepared);
            if (arguments.keepSeconds > 0 && !future.isDone()) {
                future.kept(prepared);
            }
        } catch (FarcallException error) {
            future.completeExceptionally(error);
        }
        return future;
    }

    /** Begins at once if there is room, and otherwise waits for it. */
    private static void start(CallFuture future, Prepared prepared) {
        if (prepared.start(0) == Numbers.PENDING) {
            Connection.apart(() -> {
                while (prepared.start(Connection.SLICE_SECONDS) == Numbers.PENDING) {
                    prepared.connection.check();
                }
                return null;
            });
        }
        future.started();
    }
}
