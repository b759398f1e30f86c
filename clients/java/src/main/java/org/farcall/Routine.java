// A routine of a server.
package org.farcall;

import java.util.List;

/** A routine of a server. It may be used by any number of threads, and keeps its connection open.
 */
public final class Routine {
    final Interface described;
    final Connection connection;
    /** Keeps the connection from being collected. */
    final Server server;
    private final Handle handle;
    private final String json;
    private final String signature;
    private final String help;
    /** What processes of its calls are given, or null. */
    final String resources;
    /** The one that its server knows. */
    private final Routine known;

    Routine(Server server, Connection connection, Handle handle) {
        this.server = server;
        this.connection = connection;
        this.handle = handle;
        json = connection.with(handle, Native::routineJson);
        signature = connection.with(handle, Native::routineSignature);
        help = connection.with(handle, Native::routineHelp);
        described = new Interface(json);
        resources = null;
        known = this;
    }

    private Routine(Routine other, String resources) {
        server = other.server;
        connection = other.connection;
        handle = other.handle;
        json = other.json;
        signature = other.signature;
        help = other.help;
        described = other.described;
        this.resources = resources;
        known = other.known;
    }

    /**
     * The same routine whose calls and handles are given this: some of "cores=4, memory=2 GB, gpus=1, wall_time=30 min". A call
     * may say otherwise: {@link Arguments#given}.
     */
    public Routine given(String resources) {
        return new Routine(this, over(this.resources, resources));
    }

    /** Later lists count before earlier ones. */
    static String over(String earlier, String later) {
        return earlier == null || later == null ? later : earlier + "; " + later;
    }

    Handle handle() {
        return handle;
    }

    /** Its interface changed: the next one to name it looks it up again. */
    void forget() {
        server.forget(known);
    }

    /** Its full name: "lapack/dgesv". */
    public String name() {
        return described.fullName;
    }

    /** Its parameters, in order, those of mode WORK included. */
    public List<Parameter> parameters() {
        return described.parameters;
    }

    /** The parameters that go by position. */
    public List<Parameter> positional() {
        return List.copyOf(described.positional);
    }

    /** What it takes and gives in one line: "dgesv(a, b, *, n=None, …) -> (a, ipiv, b, info)". */
    public String signature() {
        return signature;
    }

    /** A page about it, for people. */
    public String help() {
        return help;
    }

    /** The interface as JSON, as `farcall show --json` prints it. */
    public String json() {
        return json;
    }

    /** Arguments of a call by position; others, places for results and options follow by name. */
    public Arguments with(Object... positional) {
        return new Arguments(this, positional);
    }

    /** Calls it and waits for its end. */
    public Results call(Object... positional) {
        return with(positional).call();
    }

    /** Starts a call of it. */
    public CallFuture submit(Object... positional) {
        return with(positional).submit();
    }

    /** So many processes of its own on the server that run it and nothing else; waits until all
     * take calls. */
    public Handles hold(int count) {
        return new Handles(this, count);
    }

    /** Its signature. */
    @Override
    public String toString() {
        return signature;
    }
}
