// A connection to a server and what ends with it: objects of the library, a private server, the
// thread for futures.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.DoubleFunction;
import java.util.function.Supplier;

/** What servers, routines, objects and calls share. Nothing here refers to any of these, so that
 * the collector finds them. */
final class Connection implements Runnable {
    /** Closes what nobody closed. */
    static final Cleaner CLEANER = Cleaner.create();
    /** Between slices of waiting it is seen whether the connection was closed and the thread
     * interrupted. */
    static final double SLICE_SECONDS = 0.05;
    private static final MemorySegment MEMORY = Native.MEMORY;

    final SharedMemory memory = new SharedMemory();
    final Waiter waiter = new Waiter(this);
    final String address;
    private final Handle client;
    /** A private server, or null. */
    private final Handle server;
    /** Objects that are freed with it. */
    private final Queue<Handle> owned = new ConcurrentLinkedQueue<>();
    private volatile boolean closed;

    private Connection(Handle client, Handle server) {
        this.client = client;
        this.server = server;
        String where = with(Native::address);
        address = where == null ? "" : where;
    }

    // ---- Beginning and end
    // ---------------------------------------------------------------------------------------------

    /** Connects to a server, or starts one; from a virtual thread in a thread of its own, since it
     * may take long. */
    static Connection open(ServerOptions options) {
        Library.load();
        try {
            Native.version();
        } catch (ExceptionInInitializerError error) {
            // A library that lacks functions. The next to try gets a NoClassDefFoundError.
            if (error.getCause() instanceof FarcallException known) {
                throw known.again();
            }
            throw error;
        }
        return apart(() -> opened(options));
    }

    /** One that the library has connected. */
    static Connection of(Handle client) {
        return new Connection(client, null);
    }

    /** Connects, with a scratch of its own. */
    private static Connection opened(ServerOptions options) {
        SharedMemory memory = new SharedMemory();
        Scratch scratch = memory.scratch();
        try {
            if (options.isRunning) {
                long place = scratch.allocate(8);
                long error = scratch.allocate(8);
                Native.check(Native.runningServer(place, error), error);
                return new Connection(
                    new Handle(MEMORY.get(JAVA_LONG, place), Native.FREE_CLIENT), null);
            }
            Handle server = options.isPrivate() ? started(options, scratch) : null;
            try {
                String address = server == null ? options.address : addressOf(server);
                return new Connection(connected(options, address, scratch), server);
            } catch (RuntimeException error) {
                if (server != null) {
                    server.close();
                }
                throw error;
            }
        } finally {
            scratch.clear(false);
        }
    }

    /** Where a private server listens. */
    private static String addressOf(Handle server) {
        try {
            return Native.serverAddress(server.use());
        } finally {
            server.done();
        }
    }

    /** What is given by text in a structure of options. */
    private static long text(Scratch scratch, String given) {
        if (given == null) {
            return 0;
        }
        if (given.indexOf('\0') >= 0) {
            throw FarcallException.of(
                ErrorKind.INVALID_ARGUMENT, "connect", "a text contains a NUL", null);
        }
        return scratch.text(given);
    }

    /** A list of them. */
    private static long texts(Scratch scratch, List<String> given) {
        long list = scratch.zeroed(8L * Math.max(given.size(), 1));
        for (int i = 0; i < given.size(); i++) {
            MEMORY.set(JAVA_LONG, list + 8L * i, text(scratch, given.get(i)));
        }
        return list;
    }

    /** Starts a private server, and waits until it listens. */
    private static Handle started(ServerOptions options, Scratch scratch) {
        long place = scratch.allocate(8);
        long error = scratch.allocate(8);
        long said = scratch.zeroed(56);
        MEMORY.set(JAVA_LONG, said, 56);
        MEMORY.set(JAVA_LONG, said + 8, text(scratch, options.program));
        MEMORY.set(JAVA_LONG, said + 16, texts(scratch, options.files));
        MEMORY.set(JAVA_LONG, said + 24, options.files.size());
        MEMORY.set(JAVA_LONG, said + 32, texts(scratch, options.arguments));
        MEMORY.set(JAVA_LONG, said + 40, options.arguments.size());
        MEMORY.set(JAVA_DOUBLE, said + 48, options.timeoutSeconds);
        Native.check(Native.serverStart(said, place, error), error);
        return new Handle(MEMORY.get(JAVA_LONG, place), Native.FREE_SERVER);
    }

    /** The client, by options. */
    private static Handle connected(ServerOptions options, String address, Scratch scratch) {
        long place = scratch.allocate(8);
        long error = scratch.allocate(8);
        long said = scratch.zeroed(48);
        MEMORY.set(JAVA_LONG, said, 48);
        MEMORY.set(JAVA_LONG, said + 8, text(scratch, address));
        MEMORY.set(JAVA_LONG, said + 16, text(scratch, options.tokenFile));
        MEMORY.set(JAVA_DOUBLE, said + 24, options.timeoutSeconds);
        MEMORY.set(JAVA_DOUBLE, said + 32, options.heartbeatSeconds);
        MEMORY.set(JAVA_DOUBLE, said + 40, options.reconnectSeconds);
        Native.check(Native.connect(said, place, error), error);
        return new Handle(MEMORY.get(JAVA_LONG, place), Native.FREE_CLIENT);
    }

    @Override
    public void run() {
        close();
    }

    /** Ends calls under way, the connection and a private server. */
    void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        waiter.close();
        for (Handle one = owned.poll(); one != null; one = owned.poll()) {
            one.close();
        }
        client.close();
        memory.close();
        if (server != null) {
            apart(() -> {
                server.close();
                return null;
            });
        }
    }

    boolean isClosed() {
        return closed;
    }

    /** Has an object freed at the end of the connection, at the latest. */
    Handle own(Handle handle) {
        owned.add(handle);
        if (closed) {
            handle.close();
        }
        return handle;
    }

    /** It was freed. */
    void disown(Handle handle) {
        owned.remove(handle);
    }

    FarcallException closedError() {
        return FarcallException.of(ErrorKind.CONNECTION_LOST, "call", "this connection was closed",
            "connect again with Server.connect()");
    }

    /** Between two slices of waiting: throws if nobody is to wait any longer. */
    void check() {
        if (closed) {
            throw closedError();
        }
        if (Thread.currentThread().isInterrupted()) {
            throw interrupted();
        }
    }

    static FarcallException interrupted() {
        return FarcallException.of(
            ErrorKind.CANCELLED, "call", "the thread that waits was interrupted", null);
    }

    // ---- Use of the library's objects
    // ------------------------------------------------------------------------------------

    /** What a function says of the client, which is not freed meanwhile. */
    <T> T with(java.util.function.LongFunction<T> function) {
        return with(client, function);
    }

    /** The same of any object. */
    <T> T with(Handle handle, java.util.function.LongFunction<T> function) {
        long object = handle.use();
        if (object == 0) {
            throw closedError();
        }
        try {
            return function.apply(object);
        } finally {
            handle.done();
        }
    }

    /** Waits in slices for what a function of the library waits for that takes seconds. */
    void waitFor(DoubleFunction<Integer> waiting, long error) {
        apart(() -> {
            while (Native.check(waiting.apply(SLICE_SECONDS), error) == Numbers.PENDING) {
                check();
            }
            return null;
        });
    }

    /**
     * Runs what blocks in C. A virtual thread would hold its carrier meanwhile, and there are as many of these as processors:
     * it waits for a platform thread instead.
     */
    static <T> T apart(Supplier<T> blocking) {
        if (!Thread.currentThread().isVirtual()) {
            return blocking.get();
        }
        CompletableFuture<T> done = new CompletableFuture<>();
        Thread worker = Thread.ofPlatform().daemon().name("farcall waits").start(() -> {
            try {
                done.complete(blocking.get());
            } catch (Throwable error) {
                done.completeExceptionally(error);
            }
        });
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return done.get();
                } catch (InterruptedException error) {
                    // It looks between two slices, and is waited for: it uses memory of this call.
                    interrupted = true;
                    worker.interrupt();
                } catch (ExecutionException error) {
                    throw thrown(error.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** What is thrown in this thread for an error of another one. */
    static RuntimeException thrown(Throwable error) {
        return switch (error) {
            case FarcallException known -> known.again();
            case CompletionException wrapped when wrapped.getCause() != null ->
                thrown(wrapped.getCause());
            case RuntimeException other -> other;
            case Error fatal -> throw fatal;
            default -> new CompletionException(error);
        };
    }

    // ---- Questions
    // ---------------------------------------------------------------------------------------------

    /** A routine's object, which is freed with the connection. */
    Handle lookup(String name) {
        Scratch scratch = memory.scratch();
        try {
            long place = scratch.allocate(8);
            long error = scratch.allocate(8);
            long text = scratch.text(name);
            waitFor(seconds
                -> with(client -> Native.lookup(client, text, seconds, place, error)),
                error);
            return own(new Handle(MEMORY.get(JAVA_LONG, place), Native.FREE_ROUTINE));
        } finally {
            memory.give(scratch, false);
        }
    }

    /** The interfaces of all routines, as maps. */
    @SuppressWarnings("unchecked")
    List<Map<String, Object>> list() {
        Scratch scratch = memory.scratch();
        try {
            long place = scratch.allocate(8);
            long error = scratch.allocate(8);
            waitFor(seconds -> with(client -> Native.list(client, seconds, place, error)), error);
            long json = MEMORY.get(JAVA_LONG, place);
            try {
                return (List<Map<String, Object>>) Json.read(Native.text(json));
            } finally {
                Native.free(Native.FREE_TEXT, json);
            }
        } finally {
            memory.give(scratch, false);
        }
    }

    /** Has the server hold so many executables. */
    Handle hold(String name, int count, String resources, Terms.Start start) {
        Scratch scratch = memory.scratch();
        try {
            long place = scratch.allocate(8);
            long error = scratch.allocate(8);
            long options = scratch.zeroed(40);
            MEMORY.set(JAVA_LONG, options, 40);
            MEMORY.set(JAVA_DOUBLE, options + 16, start.seconds());
            MEMORY.set(JAVA_INT, options + 28, start.ranks());
            MEMORY.set(JAVA_LONG, options + 32, resources == null ? 0 : scratch.text(resources));
            long text = scratch.text(name);
            Native.check(
                with(client -> Native.holdStart(client, text, count, options, place, error)),
                error);
            return own(new Handle(MEMORY.get(JAVA_LONG, place), Native.FREE_HOLD));
        } finally {
            memory.give(scratch, false);
        }
    }
}
