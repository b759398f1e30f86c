// What the configuration, and a handle's properties, say of the handle's calls.
package org.farcall;

import java.util.List;
import java.util.Map;

/**
 * Of one server: its place among those of the configuration, and the number of the connection to it, which is another one
 * after a loss. Then times in seconds, 0 for no limit, and what else holds for calls there. `transferSeconds` are those of
 * arguments, results, callbacks' arguments and callbacks' results.
 */
record Terms(int place, long connection, Start start, double sessionSeconds,
    double[] transferSeconds, boolean prints, boolean notes) {
    /** How processes that belong to a handle start and end. */
    record Start(double seconds, double stopSeconds, int ranks) {
        /** As the server has it; their end is waited for. */
        static final Start ANY = new Start(0, -1, 0);
    }

    /** From what farcall_grpc_places_connect says. */
    static Terms of(String json) {
        Map<?, ?> said = (Map<?, ?>) Json.read(json);
        double[] times = ((List<?>) said.get("transfer_timeouts"))
                             .stream()
                             .mapToDouble(one -> (Double) one)
                             .toArray();
        Start start = new Start(number(said, "start_timeout"), number(said, "stop_timeout"),
            (int) number(said, "ranks"));
        return new Terms((int) number(said, "place"), (long) number(said, "connection"), start,
            number(said, "session_timeout"), times, Boolean.TRUE.equals(said.get("prints")),
            Boolean.TRUE.equals(said.get("notes")));
    }

    private static double number(Map<?, ?> said, String name) {
        return (Double) said.get(name);
    }
}
