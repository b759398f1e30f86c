// The process of a GridRPC handle whose server was named: for C, clients/gridrpc/src/own.rs.
package org.farcall;

/**
 * It takes the handle's calls, so that a routine's static variables live on from one to the next, as in Ninf-G. It starts with
 * the first call, and again after one that failed. Where the server gives none, whatever process is free takes the calls.
 */
final class OwnProcess {
    private final Terms.Start start;
    private Handles held;
    private boolean refused;

    OwnProcess(Terms.Start start) {
        this.start = start;
    }

    /** Arguments of a call on it. */
    synchronized Arguments with(Routine routine) {
        if (held == null && !refused) {
            held = ask(routine);
        }
        return held == null ? routine.with() : held.with(0);
    }

    private Handles ask(Routine routine) {
        try {
            return new Handles(routine, 1, start);
        } catch (FarcallException error) {
            switch (error.kind()) {
                case LIMIT_EXCEEDED, UNAVAILABLE, PERMISSION_DENIED -> refused = true;
                default -> throw error;
            }
            return null;
        }
    }

    /** A call with it failed: it may be no more, or in disorder, and another takes its place. */
    synchronized void spoil() {
        Handles spoiled = held;
        held = null;
        if (spoiled == null) {
            return;
        }
        try {
            spoiled.close();
        } catch (FarcallException ignored) {
            // The call has told what happened to it.
        }
    }

    /** Ends it. */
    synchronized void close() {
        if (held != null) {
            held.close();
        }
    }
}
