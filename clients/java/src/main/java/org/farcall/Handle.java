// An object of the C library: freed once, and never while a function of the library uses it.
package org.farcall;

import java.lang.invoke.MethodHandle;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The address of an object, with the number of those who use it at the moment. {@link #close} gives up the share of the one
 * who made it; whoever lets go of it last frees it. It is also what a Cleaner runs when nobody closed it.
 */
final class Handle implements Runnable {
    private static final int CLOSED = 1 << 30;

    private final long address;
    private final MethodHandle free;
    /** Users, and the bit CLOSED once nobody more may begin to use it. */
    private final AtomicInteger users = new AtomicInteger();

    /** What is done when it has been freed. */
    private final Runnable afterwards;

    Handle(long address, MethodHandle free) {
        this(address, free, () -> {});
    }

    Handle(long address, MethodHandle free, Runnable afterwards) {
        this.address = address;
        this.free = free;
        this.afterwards = afterwards;
    }

    /** Begins to use it: its address, or 0 if it was closed. After an address, {@link #done} must
     * follow. */
    long use() {
        int before = users.getAndIncrement();
        if (before >= CLOSED) {
            done();
            return 0;
        }
        return address;
    }

    /** Ends a use. */
    void done() {
        if (users.decrementAndGet() == CLOSED) {
            freeOnce();
        }
    }

    boolean isClosed() {
        return users.get() >= CLOSED;
    }

    /** Nobody more may use it; it is freed at once, or by the last who does. The second time it
     * does nothing. */
    void close() {
        int before = users.get();
        while (before < CLOSED) {
            if (users.compareAndSet(before, before | CLOSED)) {
                if (before == 0) {
                    freeOnce();
                }
                return;
            }
            before = users.get();
        }
    }

    @Override
    public void run() {
        close();
    }

    private void freeOnce() {
        // A late use() may count up and down once more: only the first to see nobody frees it.
        if (users.compareAndSet(CLOSED, CLOSED | CLOSED >> 1)) {
            Native.free(free, address);
            afterwards.run();
        }
    }
}
