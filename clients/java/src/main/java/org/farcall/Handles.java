// An array of function handles.
package org.farcall;

/**
 * Function handles: each is a process of its own on the server that runs the routine, and keeps its static variables. Calls
 * on one run in their order, those on several at the same time.
 */
public final class Handles implements AutoCloseable {
    private final Routine routine;
    private final Held held;
    private final int count;
    private final java.util.BitSet disposed = new java.util.BitSet();

    Handles(Routine routine, int count) {
        this(routine, count, Terms.Start.ANY);
    }

    Handles(Routine routine, int count, Terms.Start start) {
        if (count < 1) {
            throw FarcallException.of(ErrorKind.INVALID_ARGUMENT, "make handles",
                count + " is not a number of handles", "give one above 0");
        }
        this.routine = routine;
        this.count = count;
        held = new Held(routine.connection, routine.name(), count, routine.resources, start);
        try {
            held.waitReady();
        } catch (RuntimeException error) {
            held.close();
            throw error;
        }
    }

    /** How many there are. */
    public int size() {
        return count;
    }

    /** Arguments of a call on one of them, from 0, as {@link Routine#with}. */
    public Arguments with(int index, Object... positional) {
        java.util.Objects.checkIndex(index, count);
        Arguments made = routine.with(positional);
        // They have what they were made with.
        made.resources = null;
        made.on = held.id(index);
        made.held = held;
        return made;
    }

    /** Calls one of them and waits for its end. */
    public Results call(int index, Object... positional) {
        return with(index, positional).call();
    }

    /** Starts a call on one of them. */
    public CallFuture submit(int index, Object... positional) {
        return with(index, positional).submit();
    }

    /** One of them is not wanted any more; with the last of them they end. The second time it does
     * nothing. */
    synchronized boolean dispose(int index) {
        disposed.set(index);
        if (disposed.cardinality() == count) {
            close();
        }
        return disposed.cardinality() == count;
    }

    /** Ends them, and calls under way on them. */
    @Override
    public void close() {
        held.close();
    }
}
