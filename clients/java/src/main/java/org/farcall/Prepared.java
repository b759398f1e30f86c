// One call and all the memory that it uses, from its arguments to its outcome.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/** A call on its way: prepared, started, over. Its memory goes back when nobody uses the library's
 * call any more. */
final class Prepared {
    private static final MemorySegment MEMORY = Native.MEMORY;
    /** Of farcall_call_options. */
    static final int OPTIONS_BYTES = 80;

    final Routine routine;
    final Connection connection;
    final Filler filler;
    final Listener listener;
    private final Scratch scratch;
    private final boolean segments;
    /** What it is called on lives as long. */
    private final Held held;
    private final double timeoutSeconds;
    private final long deadline;
    private final long options;
    private final long place;
    private final long error;
    private final AtomicBoolean isOver = new AtomicBoolean();
    /** They keep arenas open whose memory it uses; none once it is over. */
    private final AtomicReference<List<Keeper>> keepers = new AtomicReference<>(List.of());
    /** Whether it ended by itself, so that its memory may serve other calls. */
    private volatile boolean endedWell;
    private volatile Handle call;

    Prepared(Arguments arguments, boolean announced) {
        routine = arguments.routine;
        connection = routine.connection;
        listener = Listener.of(arguments.output, arguments.progress);
        segments = arguments.segments;
        held = arguments.held;
        timeoutSeconds = arguments.timeoutSeconds;
        deadline = System.nanoTime() + (long) (timeoutSeconds * 1e9);
        scratch = connection.memory.scratch();
        try {
            place = scratch.allocate(8);
            error = scratch.allocate(8);
            options = options(arguments);
            filler = arguments.filled(scratch);
            // Who waits for it alone hears of its end, too.
            MEMORY.set(JAVA_INT, options + 16, announced && !needsThread() ? 1 : 0);
            keepOpen();
        } catch (RuntimeException failed) {
            release();
            connection.memory.give(scratch, false);
            throw failed;
        }
    }

    /** A call that is under way already. */
    Prepared(Arguments arguments, boolean announced, long started) {
        this(arguments, announced);
        call = new Handle(started, Native.FREE_CALL, this::giveBack);
    }

    /** Has arenas stay open that other threads could close meanwhile. */
    private void keepOpen() {
        List<MemorySegment> lent = filler.lent();
        if (lent.isEmpty()) {
            return;
        }
        List<Keeper> made = new ArrayList<>();
        keepers.set(made);
        for (MemorySegment memory : lent) {
            if (Keeper.isNeeded(memory) && !Keeper.isConfined(memory)) {
                Keeper keeper = Keeper.of(memory);
                if (keeper == null) {
                    throw unusable("the arena of a segment was closed",
                        "keep it open until the call has finished");
                }
                made.add(keeper);
            }
        }
    }

    /** Refuses memory that the thread which makes the call could free while it goes on, and which
     * nobody else keeps. */
    void refuseConfined() {
        if (filler.lent().stream().anyMatch(Keeper::isConfined)) {
            throw unusable("the arena of a segment belongs to this thread, which could close it " +
                           "during the call",
                "allocate it with Arena.ofShared() or Arena.ofAuto(), or use call() instead of " +
                "submit()");
        }
    }

    private FarcallException unusable(String message, String advice) {
        return FarcallException.of(
            ErrorKind.INVALID_ARGUMENT, "call", message, advice, "routine", routine.name());
    }

    /** Arenas can be closed again. */
    private void release() {
        keepers.getAndSet(List.of()).forEach(Keeper::release);
    }

    /** What each process of the call is given. */
    private void askFor(String resources, long options) {
        long text = resources == null ? 0 : scratch.text(resources);
        MEMORY.set(JAVA_LONG, options + 64, text);
    }

    private long options(Arguments arguments) {
        long made = scratch.zeroed(OPTIONS_BYTES);
        MEMORY.set(JAVA_LONG, made, OPTIONS_BYTES);
        MEMORY.set(JAVA_DOUBLE, made + 8, timeoutSeconds);
        MEMORY.set(JAVA_INT, made + 20, listener.wanted());
        MEMORY.set(JAVA_LONG, made + 24, arguments.on == null ? 0 : scratch.bytes(arguments.on));
        MEMORY.set(JAVA_DOUBLE, made + 32, arguments.keepSeconds);
        MEMORY.set(JAVA_INT, made + 40, arguments.keepSeconds > 0 ? 1 : 0);
        MEMORY.set(JAVA_INT, made + 44, arguments.ranks);
        MEMORY.set(JAVA_DOUBLE, made + 56, arguments.runTimeoutSeconds);
        askFor(arguments.resources, made);
        MEMORY.set(JAVA_LONG, made + 72, arguments.at == null ? 0 : scratch.text(arguments.at));
        return made;
    }

    /** Whether it needs a thread that waits for it alone: functions run in the thread that waits.
     */
    boolean needsThread() {
        return listener.wanted() != 0 || !filler.functions.isEmpty();
    }

    /** Starts it, waiting so long for room: OK, or PENDING if there is none by then. */
    int start(double seconds) {
        if (timeoutSeconds > 0) {
            double left = (deadline - System.nanoTime()) / 1e9;
            if (left <= 0) {
                throw timedOut();
            }
            MEMORY.set(JAVA_DOUBLE, options + 8, left);
        }
        if (connection.isClosed()) {
            throw connection.closedError();
        }
        long count = routine.described.parameters.size();
        long object = routine.handle().use();
        if (object == 0) {
            throw connection.closedError();
        }
        try {
            int status = Native.start(object, filler.slots, count, options, seconds, place, error);
            if (Native.check(status, error) == Numbers.OK) {
                call = new Handle(MEMORY.get(JAVA_LONG, place), Native.FREE_CALL, this::giveBack);
            }
            return status;
        } finally {
            routine.handle().done();
        }
    }

    /** The library's call; null before it was started. */
    Handle handle() {
        return call;
    }

    /** Waits for its end: results, or null if it is not over by then. */
    Results outcome(double seconds) {
        long object = call.use();
        if (object == 0) {
            throw connection.closedError();
        }
        boolean ended = true;
        try {
            // The place for the call is free by now.
            int status = Native.callWait(object, seconds, place, error);
            if (Native.check(status, error) == Numbers.PENDING) {
                ended = false;
                return null;
            }
            endedWell = true;
            return collected(MEMORY.get(JAVA_LONG, place));
        } catch (FarcallException failed) {
            throw explained(failed);
        } finally {
            call.done();
            // Before anybody hears of the end, and closes them.
            if (ended) {
                release();
            }
        }
    }

    /** Takes the results to the heap, and frees them. */
    private Results collected(long results) {
        if (segments) {
            return left(results);
        }
        try {
            Collector collector = new Collector(filler, results, scratch, null);
            return new Results(routine.name(), collector.values(routine.described),
                collector.ran(), null, null);
        } finally {
            Native.free(Native.FREE_RESULTS, results);
        }
    }

    /** Results that stay where they are. */
    private Results left(long results) {
        Handle handle = new Handle(results, Native.FREE_RESULTS);
        Arena arena = Arena.ofShared();
        try {
            Collector collector = new Collector(filler, results, scratch, arena);
            return new Results(routine.name(), collector.values(routine.described),
                collector.ran(), arena, handle);
        } catch (RuntimeException error) {
            arena.close();
            handle.close();
            throw error;
        }
    }

    /** What is thrown for a call that failed: what one of its functions threw has led to it. */
    private FarcallException explained(FarcallException failed) {
        if (failed.kind() == ErrorKind.INTERFACE_CHANGED) {
            routine.forget();
        }
        if (failed.kind() == ErrorKind.ROUTINE_FAILED && failed.getCause() == null) {
            filler.functions.stream()
                .map(Passed::thrown)
                .filter(java.util.Objects::nonNull)
                .reduce((a, b) -> b)
                .ifPresent(failed::initCause);
        }
        return failed;
    }

    /** Takes news for so long: true when there are no more. */
    boolean news(double seconds) {
        long object = call.use();
        if (object == 0) {
            return true;
        }
        try {
            return listener.take(object, seconds, newsPlace(), error);
        } finally {
            call.done();
        }
    }

    private long news;

    /** Where news are told; made when they are first asked for. */
    private long newsPlace() {
        if (news == 0) {
            news = scratch.allocate(Listener.NEWS_BYTES);
        }
        return news;
    }

    /** Waits until the server goes on with it without this program. */
    void waitKept() {
        connection.waitFor(seconds -> {
            long object = call.use();
            if (object == 0) {
                return Numbers.OK;
            }
            try {
                return Native.callWaitKept(object, seconds, error);
            } finally {
                call.done();
            }
        }, error);
    }

    /** What it is fetched by, or null. */
    String id() {
        long digits = scratch.allocate(48);
        return connection.with(
            call, object -> Native.callId(object, digits) == 1 ? Native.text(digits) : null);
    }

    /** The number that the waiter knows the call by. */
    long number() {
        return connection.with(call, Native::callNumber);
    }

    /** The error of a call that is given up here. */
    FarcallException timedOut() {
        String limit = timeoutSeconds + " s";
        return FarcallException.of(ErrorKind.TIMED_OUT, "call", "timed out", "raise the timeout",
            "routine", routine.name(), "timeout", limit);
    }

    boolean isOverdue(long now) {
        return timeoutSeconds > 0 && now - deadline >= 0;
    }

    /** It has ended or is no longer wanted: then the server is asked to end it. The second time it
     * does nothing. */
    void close() {
        if (!isOver.compareAndSet(false, true)) {
            return;
        }
        Handle started = call;
        if (started == null) {
            endedWell = true;
            giveBack();
            return;
        }
        if (!endedWell) {
            long object = started.use();
            if (object != 0) {
                Native.callCancel(object);
                started.done();
            }
        }
        started.close();
    }

    /** Nobody uses the call any more: neither does anybody use its memory. */
    private void giveBack() {
        java.lang.ref.Reference.reachabilityFence(held);
        release();
        filler.functions.forEach(Passed::forget);
        connection.memory.give(scratch, !endedWell);
    }
}
