// Memory that a server on the same host reads and writes where it lies, kept from call to call.
package org.farcall;

import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Arrays of Java's heap are copied once, into pieces of this: the library does not copy them again. The first touch of a
 * large piece costs as much as a copy, so pieces are kept; at most {@link #KEPT_BYTES_MAX} of them that nobody uses.
 */
final class SharedMemory {
    private static final long KEPT_BYTES_MAX = 256L << 20;
    private static final int KEPT_MAX = 64;
    /** Pieces are whole pages. */
    private static final long PAGE = 4096;
    /** Blocks of calls that are kept. */
    private static final int SCRATCH_MAX = 64;

    /** Some shared memory. */
    record Piece(long address, long bytes, Handle handle) {}

    private final ReentrantLock lock = new ReentrantLock();
    /** Pieces that nobody uses, the one that was used last in front. */
    private final Deque<Piece> kept = new ArrayDeque<>();
    private long keptBytes;
    private boolean closed;
    private final ConcurrentLinkedQueue<Scratch> scratches = new ConcurrentLinkedQueue<>();
    private final AtomicInteger scratchCount = new AtomicInteger();

    /** Memory for a call. */
    Scratch scratch() {
        Scratch one = scratches.poll();
        if (one == null) {
            return new Scratch(this);
        }
        scratchCount.decrementAndGet();
        return one;
    }

    /** The call is over, or was given up. */
    void give(Scratch scratch, boolean wasGivenUp) {
        scratch.clear(wasGivenUp);
        if (scratchCount.incrementAndGet() <= SCRATCH_MAX) {
            scratches.add(scratch);
        } else {
            scratchCount.decrementAndGet();
        }
    }

    /** A piece of at least so many bytes, of any value. */
    Piece take(long bytes) {
        lock.lock();
        try {
            for (Iterator<Piece> all = kept.iterator(); all.hasNext();) {
                Piece piece = all.next();
                if (piece.bytes >= bytes && piece.bytes / 2 <= bytes) {
                    all.remove();
                    keptBytes -= piece.bytes;
                    return piece;
                }
            }
        } finally {
            lock.unlock();
        }
        return allocated((bytes + PAGE - 1) & -PAGE);
    }

    private Piece allocated(long bytes) {
        Scratch places = scratch();
        try {
            long data = places.allocate(8);
            long memory = places.allocate(8);
            long error = places.allocate(8);
            Native.check(Native.memoryAllocate(bytes, data, memory, error), error);
            Handle handle =
                new Handle(Native.MEMORY.get(ValueLayout.JAVA_LONG, memory), Native.FREE_MEMORY);
            return new Piece(Native.MEMORY.get(ValueLayout.JAVA_LONG, data), bytes, handle);
        } finally {
            give(places, false);
        }
    }

    /** Nobody uses it any more. */
    void give(Piece piece) {
        lock.lock();
        try {
            if (closed || piece.bytes > KEPT_BYTES_MAX) {
                piece.handle.close();
                return;
            }
            kept.addFirst(piece);
            keptBytes += piece.bytes;
            while (keptBytes > KEPT_BYTES_MAX || kept.size() > KEPT_MAX) {
                Piece oldest = kept.removeLast();
                keptBytes -= oldest.bytes;
                oldest.handle.close();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Frees what is kept, and from now on whatever is given back. */
    void close() {
        lock.lock();
        try {
            closed = true;
            kept.forEach(piece -> piece.handle.close());
            kept.clear();
            keptBytes = 0;
        } finally {
            lock.unlock();
        }
    }
}
