// A connection to a server: where everything begins.
package org.farcall;

import java.lang.ref.Cleaner;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A connection to a server:
 *
 * <pre>{@code
 * try (Server server = Server.connect("ssh://me@cluster")) {
 *     double[] x = server.call("dgesv", a, b).doubles("b");
 * }
 * }</pre>
 *
 * <p>Any number of threads may use it, virtual ones too: a call does not hold a virtual thread's carrier. It ends with
 * {@link #close}, or when neither it nor a routine, object or call of it is referred to.
 */
public final class Server implements AutoCloseable {
    private final Connection connection;
    private final Cleaner.Cleanable cleanable;
    /** By the name that they were asked for. */
    private final Map<String, Routine> routines = new ConcurrentHashMap<>();

    Server(Connection connection) {
        this.connection = connection;
        cleanable = Connection.CLEANER.register(this, connection);
    }

    /** Options of a connection. */
    public static ServerOptions options() {
        return new ServerOptions();
    }

    /**
     * Connects to the server that $FARCALL_SERVER names; where that is not set, starts a private one that publishes what
     * Farcall comes with, and ends with the connection.
     */
    public static Server connect() {
        return options().connect();
    }

    /** Connects to "unix:PATH", "ssh://[USER@]HOST[:PORT]", "tls://HOST:PORT" or
     * "farcall://HOST:PORT". */
    public static Server connect(String address) {
        return options()
            .address(java.util.Objects.requireNonNull(address, "the address is null"))
            .connect();
    }

    /** Starts a private server that publishes interface files, and ends with the connection. */
    public static Server publish(Path... files) {
        return options().publish(files).connect();
    }

    /**
     * In a routine that Farcall runs: the server that runs it, for calls of other routines, which are part of the call that
     * runs. UNAVAILABLE where none does.
     */
    public static Server running() {
        ServerOptions options = options();
        options.isRunning = true;
        return options.connect();
    }

    /** The version of the library: "0.1.0". */
    public static String version() {
        Library.load();
        return Native.version();
    }

    Connection connection() {
        return connection;
    }

    /** Where it is, as for {@link #connect}. */
    public String address() {
        return connection.address;
    }

    /** Full names of all routines, asked of the server again. */
    public List<String> routines() {
        return connection.list().stream().map(one -> (String) one.get("full_name")).toList();
    }

    /** A routine by "module/name", by its bare name where that is unique, or by an alias; in any
     * case where that is unique. */
    public Routine routine(String name) {
        Routine known = routines.get(name);
        if (known == null) {
            known = new Routine(this, connection, looked(name));
            routines.put(name, known);
        }
        return known;
    }

    private Handle looked(String name) {
        if (name.indexOf('\0') >= 0) {
            throw FarcallException.of(
                ErrorKind.NOT_FOUND, "find a routine", "the routine's name contains a NUL", null);
        }
        return connection.lookup(name);
    }

    /** It is another one by now. */
    void forget(Routine routine) {
        routines.values().removeIf(one -> one == routine);
    }

    /** Calls a routine by its name and waits for its end. */
    public Results call(String name, Object... positional) {
        return routine(name).call(positional);
    }

    /** Starts a call of a routine. */
    public CallFuture submit(String name, Object... positional) {
        return routine(name).submit(positional);
    }

    /** Makes an object of a class: waits until it takes calls, and calls its `_initialize` with
     * these arguments, if it has one. */
    public RemoteObject object(String name, Object... arguments) {
        return RemoteObject.made(this, name, 1, null, arguments)[0];
    }

    /** The same of so many objects, by one request; each has a process and a state of its own. */
    public RemoteObjects objects(String name, int count, Object... arguments) {
        return new RemoteObjects(RemoteObject.made(this, name, count, null, arguments));
    }

    /**
     * The same of objects whose processes are given what the first text says: some of
     * "cores=4, memory=2 GB, gpus=1, wall_time=30 min".
     */
    public RemoteObjects objectsGiven(
        String resources, String name, int count, Object... arguments) {
        return new RemoteObjects(RemoteObject.made(this, name, count, resources, arguments));
    }

    /**
     * Takes up a call that was submitted with {@link Arguments#keep}, by its id, from any process of the same user, as often
     * as it is kept. Its arrays have memory of their own.
     */
    public CallFuture fetch(String id) {
        return Fetching.fetch(this, connection, id);
    }

    /** Has the server forget a kept call; one that runs ends as if cancelled. */
    public void forget(String id) {
        Fetching.forget(connection, id);
    }

    /** Ends calls under way (CONNECTION_LOST, CANCELLED of futures), the connection and a private
     * server. Results stay valid. */
    @Override
    public void close() {
        cleanable.clean();
    }

    /** Where it is. */
    @Override
    public String toString() {
        return "Server at " + address() + (connection.isClosed() ? ", closed" : "");
    }
}
