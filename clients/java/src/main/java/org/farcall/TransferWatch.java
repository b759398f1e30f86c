// Time limits of what moves while a call runs: its arguments, its results, those of its functions.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** What of one call takes longer than its limits, as the GridRPC library for C looks after it
 * (clients/gridrpc/src/transfers.rs). */
final class TransferWatch {
    /** Of farcall_transfer. */
    private static final long BYTES = 64;

    /** How far a call is: bytes, and for how long functions' arguments and results are moving;
     * below 0: none are. */
    record Moved(long sent, long toSend, long received, long toReceive, double argumentsSince,
        double resultsSince) {}

    /** Those of arguments, results, functions' arguments and functions' results; 0: none. */
    private final double[] limits;
    private final long begun;
    /** When its results began to come. */
    private Long resultsSince;

    private TransferWatch(double[] limits, long begun) {
        this.limits = limits;
        this.begun = begun;
    }

    /** One for a call that began then; null where nothing is limited. */
    static TransferWatch of(double[] limits, long begun) {
        boolean isLimited = java.util.Arrays.stream(limits).anyMatch(limit -> limit > 0);
        return isLimited ? new TransferWatch(limits, begun) : null;
    }

    /** How far a call of the library is. */
    static Moved moved(long call) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(BYTES, 8);
            MemorySegment error = arena.allocate(JAVA_LONG);
            Native.check(
                Native.callTransfer(call, place.address(), error.address()), error.address());
            return new Moved(place.get(JAVA_LONG, 0), place.get(JAVA_LONG, 8),
                place.get(JAVA_LONG, 16), place.get(JAVA_LONG, 24), place.get(JAVA_DOUBLE, 32),
                place.get(JAVA_DOUBLE, 40));
        }
    }

    /** What took too long by now, in words, or null. */
    String late(Moved moved, long now) {
        if (moved.sent < moved.toSend) {
            return isOver(0, (now - begun) / 1e9) ? "only " + moved.sent + " of " + moved.toSend +
                                             " bytes of arguments were sent within " + limit(0)
                                                  : null;
        }
        if (moved.received < moved.toReceive) {
            resultsSince = resultsSince == null ? (Long) now : resultsSince;
            return isOver(1, (now - resultsSince) / 1e9)
                ? "only " + moved.received + " of " + moved.toReceive +
                      " bytes of results came within " + limit(1)
                : null;
        }
        if (isOver(2, moved.argumentsSince)) {
            return "a callback's arguments did not come within " + limit(2);
        }
        return isOver(3, moved.resultsSince)
            ? "a callback's results were not sent within " + limit(3)
            : null;
    }

    private boolean isOver(int which, double seconds) {
        return limits[which] > 0 && seconds > limits[which];
    }

    private String limit(int which) {
        return limits[which] + " s";
    }
}
