// An object of a server's class.
package org.farcall;

/**
 * An object on a server, made by {@link Server#object}. Calls on it run one after the other, in their order; its state stays
 * there. It ends with {@link #close}, which waits until its `_finalize` has run; without a wait when nobody refers to it.
 */
public final class RemoteObject implements AutoCloseable {
    private static final String INITIALIZE = "_initialize";

    private final Server server;
    private final Held held;

    private RemoteObject(Server server, Held held) {
        this.server = server;
        this.held = held;
    }

    /** An object whose `_initialize` nobody has called. */
    static RemoteObject bare(Server server, String name) {
        Held held = new Held(server.connection(), name, 1, 0, false);
        try {
            held.waitReady();
        } catch (RuntimeException error) {
            held.close();
            throw error;
        }
        return new RemoteObject(server, held);
    }

    static RemoteObject made(Server server, String name, Object... arguments) {
        RemoteObject object = bare(server, name);
        try {
            object.initialize(arguments);
        } catch (RuntimeException error) {
            object.close();
            throw error;
        }
        return object;
    }

    private void initialize(Object... arguments) {
        Arguments call;
        try {
            call = with(INITIALIZE, arguments);
        } catch (FarcallException error) {
            if (error.kind() != ErrorKind.NOT_FOUND || arguments.length > 0) {
                throw error;
            }
            return;
        }
        call.call();
    }

    /** The full name of its class. */
    public String name() {
        return held.name;
    }

    /** Its id, as `farcall objects` shows it. */
    public String id() {
        return java.util.HexFormat.of().formatHex(held.id(0));
    }

    /** Arguments of a call of a method, as {@link Routine#with}. */
    public Arguments with(String method, Object... positional) {
        Arguments made = server.routine(held.name + "." + method).with(positional);
        made.on = held.id(0);
        made.held = held;
        return made;
    }

    /** Calls a method and waits for its end. */
    public Results call(String method, Object... positional) {
        return with(method, positional).call();
    }

    /** Starts a call of a method. */
    public CallFuture submit(String method, Object... positional) {
        return with(method, positional).submit();
    }

    /** Ends it, and calls under way on it. What goes wrong in its `_finalize` is thrown; it has ended all the same. */
    @Override
    public void close() {
        held.close();
    }
}
