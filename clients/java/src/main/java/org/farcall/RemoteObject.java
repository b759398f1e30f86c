// An object of a server's class.
package org.farcall;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An object on a server, made by {@link Server#object} or, with others, by {@link Server#objects}. Calls on it run one after the
 * other, in their order; its state stays there. It ends with {@link #close}, which waits until its `_finalize` has run; without
 * a wait when nobody refers to it. Those that were made together end together, with the last that is closed.
 */
public final class RemoteObject implements AutoCloseable {
    private static final String INITIALIZE = "_initialize";

    private final Server server;
    private final Held held;
    private final int index;
    private final AtomicBoolean closed = new AtomicBoolean();

    private RemoteObject(Server server, Held held, int index) {
        this.server = server;
        this.held = held;
        this.index = index;
    }

    /** Objects whose `_initialize` nobody has called, by one request. */
    static RemoteObject[] bare(
        Server server, String name, int count, String resources, Terms.Start start) {
        if (count < 1) {
            throw FarcallException.of(ErrorKind.INVALID_ARGUMENT, "make objects",
                count + " is not a number of objects", "give one above 0");
        }
        Held held = new Held(server.connection(), name, count, resources, start);
        try {
            held.waitReady();
        } catch (RuntimeException error) {
            held.close();
            throw error;
        }
        RemoteObject[] objects = new RemoteObject[count];
        for (int i = 0; i < count; i++) {
            objects[i] = new RemoteObject(server, held, i);
        }
        return objects;
    }

    /** The same after their `_initialize`, which runs in all of them at the same time. */
    static RemoteObject[] made(
        Server server, String name, int count, String resources, Object... arguments) {
        RemoteObject[] objects = bare(server, name, count, resources, Terms.Start.ANY);
        try {
            initialize(objects, arguments);
        } catch (RuntimeException error) {
            objects[0].held.close();
            throw error;
        }
        return objects;
    }

    private static void initialize(RemoteObject[] objects, Object... arguments) {
        List<Arguments> calls = new ArrayList<>();
        try {
            for (RemoteObject object : objects) {
                calls.add(object.with(INITIALIZE, arguments));
            }
        } catch (FarcallException error) {
            if (error.kind() != ErrorKind.NOT_FOUND || arguments.length > 0) {
                throw error;
            }
            return;
        }
        if (calls.size() == 1) {
            calls.get(0).call();
            return;
        }
        List<CallFuture> futures = calls.stream().map(Arguments::submit).toList();
        try {
            futures.forEach(CallFuture::join);
        } catch (java.util.concurrent.CompletionException error) {
            throw error.getCause() instanceof FarcallException cause ? cause : error;
        }
    }

    /** The full name of its class. */
    public String name() {
        return held.name;
    }

    /** Its id, as `farcall objects` shows it. */
    public String id() {
        return java.util.HexFormat.of().formatHex(held.id(index));
    }

    /** Arguments of a call of a method, as {@link Routine#with}. */
    public Arguments with(String method, Object... positional) {
        if (closed.get()) {
            throw held.gone();
        }
        Arguments made = server.routine(held.name + "." + method).with(positional);
        made.on = held.id(index);
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

    /** Ends it, and calls under way on it. What goes wrong in its `_finalize` is thrown; it has
     * ended all the same. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            held.leave();
        }
    }
}
