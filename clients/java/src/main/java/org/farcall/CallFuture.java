// The future of a call.
package org.farcall;

import java.util.concurrent.CompletableFuture;

/**
 * A call that runs while the program goes on. It completes with {@link Results}, or exceptionally with a
 * {@link FarcallException}. `cancel`, and whatever else completes it early (`orTimeout`, `complete`), has the server end the
 * call; its arrays are the caller's again then, and its memory is freed.
 */
public final class CallFuture extends CompletableFuture<Results> {
    private volatile Prepared prepared;
    private volatile long number;
    private volatile String id;

    CallFuture() {}

    /** Stages that follow are ordinary futures: to cancel one of them cancels no call. */
    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new CompletableFuture<>();
    }

    /** The id that {@link Server#fetch} finds it by; null of a call that ends with this program. */
    public String id() {
        return id;
    }

    /** Whatever completes it ends its call. */
    void prepared(Prepared made) {
        prepared = made;
        whenComplete((results, error) -> {
            if (number != 0) {
                made.connection.waiter.forget(number);
            }
            made.close();
        });
    }

    /** The call is under way. */
    void started() {
        Prepared made = prepared;
        if (made.needsThread()) {
            Thread.ofPlatform().daemon().name("farcall callbacks").start(this::attend);
            return;
        }
        number = made.number();
        made.connection.waiter.add(this, number);
    }

    /** The number that its connection knows it by; 0 of one that has not begun. */
    long callNumber() {
        Long known = whileRunning(Native::callNumber);
        return known == null ? 0 : known;
    }

    /** How far its arrays and its functions are; null when it has ended, or has not begun. */
    TransferWatch.Moved moved() {
        return whileRunning(TransferWatch::moved);
    }

    /** What a function says of the library's call; null without one. */
    private <T> T whileRunning(java.util.function.LongFunction<T> function) {
        Prepared made = prepared;
        Handle call = made == null || isDone() ? null : made.handle();
        if (call == null) {
            return null;
        }
        long object = call.use();
        try {
            return object == 0 ? null : function.apply(object);
        } finally {
            if (object != 0) {
                call.done();
            }
        }
    }

    /** A call that goes on without this program: it has its id when the server has said so. */
    void kept(Prepared made) {
        made.waitKept();
        id = made.id();
    }

    /** A call of before. */
    void fetched(String named) {
        id = named;
        started();
    }

    /** Waits for the call in a thread of its own, in which its functions run. */
    private void attend() {
        Prepared made = prepared;
        try {
            while (
                made.listener.wanted() != 0 && !isDone() && !made.news(Connection.SLICE_SECONDS)) {
                made.connection.check();
            }
            Results results = null;
            while (results == null && !isDone()) {
                results = made.outcome(Connection.SLICE_SECONDS);
                made.connection.check();
            }
            complete(results);
        } catch (Throwable error) {
            completeExceptionally(error);
        }
    }

    /** Takes the outcome of a call that is over. */
    void collect() {
        collect(true);
    }

    /** The same of one that may be. */
    void collectIfOver() {
        collect(false);
    }

    private void collect(boolean isOver) {
        Prepared made = prepared;
        if (isDone()) {
            return;
        }
        try {
            Results results = made.outcome(0);
            if (results != null) {
                if (!complete(results)) {
                    results.close();
                }
            } else if (made.isOverdue(System.nanoTime())) {
                completeExceptionally(made.timedOut());
            } else if (isOver) {
                // Told of too early: it is watched again.
                made.connection.waiter.add(this, number);
            }
        } catch (Throwable error) {
            completeExceptionally(error);
        }
    }

    boolean isOverdue(long now) {
        return prepared.isOverdue(now);
    }

    /** The connection is closed. A call that is kept goes on. */
    void closed() {
        String message = id == null
                             ? "the connection was closed"
                             : "the connection was closed, and the call continues without it";
        String advice = id == null ? null : "fetch it by its id, " + id;
        completeExceptionally(FarcallException.of(ErrorKind.CANCELLED, "wait for a call", message,
            advice, "routine", prepared.routine.name()));
    }
}
