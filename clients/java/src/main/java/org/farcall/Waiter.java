// Completes the futures of a connection: one thread that waits for all calls under way.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One platform thread, which runs while there are calls. It collects nothing itself: each call that is over gets a virtual
 * thread, so that neither a large result nor what hangs on a future holds up another call.
 */
final class Waiter {
    /** The longest that it waits without looking whether it is to stop, and whose time is over. */
    private static final double SLICE_SECONDS = 0.25;
    /** Without calls it ends after so long, so that it keeps no connection alive. */
    private static final long IDLE_SECONDS = 1;
    /** Pause after an error of the connection, which is told to each call. */
    private static final long PAUSE_MILLISECONDS = 20;

    private final Connection connection;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final Map<Long, CallFuture> pending = new HashMap<>();
    /** Calls that were over before they were added here. */
    private final Set<Long> early = new HashSet<>();
    private boolean runs;
    private boolean stopped;

    Waiter(Connection connection) {
        this.connection = connection;
    }

    /** Watches a call that was started with `announced`. */
    void add(CallFuture future, long number) {
        lock.lock();
        try {
            if (stopped) {
                future.closed();
                return;
            }
            if (early.remove(number)) {
                collect(future);
                return;
            }
            pending.put(number, future);
            if (!runs) {
                runs = true;
                Thread.ofPlatform().daemon().name("farcall futures").start(this::run);
            }
            work.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Nobody waits for this call any more. */
    void forget(long number) {
        lock.lock();
        try {
            pending.remove(number);
            early.remove(number);
        } finally {
            lock.unlock();
        }
    }

    /** Ends all calls under way. */
    void close() {
        List<CallFuture> left;
        lock.lock();
        try {
            stopped = true;
            left = new ArrayList<>(pending.values());
            pending.clear();
            work.signal();
        } finally {
            lock.unlock();
        }
        left.forEach(CallFuture::closed);
    }

    private void run() {
        Scratch scratch = new Scratch(connection.memory);
        long number = scratch.allocate(8);
        long error = scratch.allocate(8);
        while (waitForWork()) {
            try {
                int status = connection.with(
                    client -> Native.nextFinished(client, SLICE_SECONDS, number, error));
                if (Native.check(status, error) == Numbers.OK) {
                    finished(number);
                }
                collectOverdue(false);
            } catch (FarcallException lost) {
                if (!connection.isClosed()) {
                    collectOverdue(true);
                    pause();
                }
            }
        }
        java.lang.ref.Reference.reachabilityFence(scratch);
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE_MILLISECONDS);
        } catch (InterruptedException ignored) {
            // Nobody but the machine's end interrupts this thread.
            Thread.currentThread().interrupt();
        }
    }

    /** False when there is nothing to wait for any more. */
    private boolean waitForWork() {
        lock.lock();
        try {
            long left = TimeUnit.SECONDS.toNanos(IDLE_SECONDS);
            while (pending.isEmpty() && !stopped && left > 0) {
                left = work.awaitNanos(left);
            }
            runs = !pending.isEmpty() && !stopped;
            return runs;
        } catch (InterruptedException ended) {
            runs = false;
            return false;
        } finally {
            lock.unlock();
        }
    }

    private void finished(long place) {
        long number = Native.MEMORY.get(JAVA_LONG, place);
        CallFuture future;
        lock.lock();
        try {
            future = pending.remove(number);
            if (future == null) {
                early.add(number);
            }
        } finally {
            lock.unlock();
        }
        if (future != null) {
            collect(future);
        }
    }

    private static void collect(CallFuture future) {
        Thread.ofVirtual().name("farcall collects").start(future::collect);
    }

    /** Has those collected whose time is over; of a lost connection all, which then know what
     * became of them. */
    private void collectOverdue(boolean all) {
        List<CallFuture> due = new ArrayList<>();
        long now = System.nanoTime();
        lock.lock();
        try {
            for (CallFuture one : pending.values()) {
                if (all || one.isOverdue(now)) {
                    due.add(one);
                }
            }
        } finally {
            lock.unlock();
        }
        due.forEach(CallFuture::collectIfOver);
    }
}
