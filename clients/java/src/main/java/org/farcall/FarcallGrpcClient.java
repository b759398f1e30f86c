// The GridRPC interface for Java, on this client.
package org.farcall;

import static org.apgrid.grpc.ng.NgGrpcHandleAttr.KEY_HOSTNAME;
import static org.apgrid.grpc.ng.NgGrpcHandleAttr.KEY_PORT;
import static org.apgrid.grpc.ng.NgGrpcSessionAttr.KEY_SESSION_TIMEOUT;
import static org.farcall.Numbers.GRPC_ALREADY_INITIALIZED;
import static org.farcall.Numbers.GRPC_CANCELED_NP;
import static org.farcall.Numbers.GRPC_CLASS_NOT_FOUND_NP;
import static org.farcall.Numbers.GRPC_COMMUNICATION_FAILED;
import static org.farcall.Numbers.GRPC_FUNCTION_NOT_FOUND;
import static org.farcall.Numbers.GRPC_INVALID_FUNCTION_HANDLE;
import static org.farcall.Numbers.GRPC_NOT_INITIALIZED;
import static org.farcall.Numbers.GRPC_OTHER_ERROR_CODE;
import static org.farcall.Numbers.GRPC_RPC_REFUSED;
import static org.farcall.Numbers.GRPC_SERVER_NOT_FOUND;
import static org.farcall.Numbers.GRPC_SESSION_FAILED;
import static org.farcall.Numbers.GRPC_TIMEOUT_NP;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;
import org.apgrid.grpc.ng.NgArgTypeException;
import org.apgrid.grpc.ng.NgException;
import org.apgrid.grpc.ng.NgExecRemoteMethodException;
import org.apgrid.grpc.ng.NgFinalizeGrpcClientException;
import org.apgrid.grpc.ng.NgFinalizeGrpcHandleException;
import org.apgrid.grpc.ng.NgGrpcFunctionHandle;
import org.apgrid.grpc.ng.NgGrpcObjectHandle;
import org.apgrid.grpc.ng.NgHeartbeatTimeoutException;
import org.apgrid.grpc.ng.NgInitializeGrpcClientException;
import org.apgrid.grpc.ng.NgInitializeGrpcHandleException;
import org.gridforum.gridrpc.GrpcClient;
import org.gridforum.gridrpc.GrpcException;
import org.gridforum.gridrpc.GrpcExecInfo;
import org.gridforum.gridrpc.GrpcFunctionHandle;
import org.gridforum.gridrpc.GrpcObjectHandle;

/** A GridRPC client, made by GrpcClientFactory. Any number of threads may use it; it may be
 * activated again after its end. */
public class FarcallGrpcClient implements GrpcClient {
    /** Where servers of other hosts listen if nothing else is said. */
    private static final String PORT = "7000";
    private static final String SSH_USER = "ssh_user";

    /** Where handles go; null when it is not active. */
    private Places places;
    /** The server of handles that name none; null for those that the configuration says. */
    private Properties unnamed;
    private final Map<String, Server> servers = new HashMap<>();

    /** A client that is not active. */
    public FarcallGrpcClient() {}

    // ---- Beginning and end
    // ---------------------------------------------------------------------------------------------

    @Override
    public void activate(String configuration) throws GrpcException {
        begin(configuration == null ? "" : configuration, null);
    }

    @Override
    public void activate(Properties server) throws GrpcException {
        begin(null, server);
    }

    /** Becomes active. Servers are connected to when a handle wants them. */
    private synchronized void begin(String configuration, Properties server) throws GrpcException {
        if (places != null) {
            throw new NgInitializeGrpcClientException(
                GRPC_ALREADY_INITIALIZED,
                "activate: it is active already; deactivate it first", null);
        }
        try {
            places = Places.read(configuration);
        } catch (Places.Failure failure) {
            throw new NgInitializeGrpcClientException(
                failure.code, "activate: " + failure.getMessage(), failure);
        } catch (FarcallException error) {
            throw new NgInitializeGrpcClientException(
                GRPC_OTHER_ERROR_CODE, error.getMessage(), error);
        }
        unnamed = server;
    }

    @Override
    public synchronized void deactivate() throws GrpcException {
        check(NgFinalizeGrpcClientException::new);
        servers.values().forEach(Server::close);
        servers.clear();
        places.close();
        places = null;
    }

    /** Every function but activate wants this first. */
    private void check(Thrower thrower) throws GrpcException {
        if (places == null) {
            throw thrower.made(
                GRPC_NOT_INITIALIZED, "the client is not active; call activate first", null);
        }
    }

    // ---- Servers
    // ---------------------------------------------------------------------------------------------

    /** The server that a handle of this function or class goes to. */
    private synchronized Server server(Properties named, String name, boolean ofClass)
        throws GrpcException
    {
        Thrower thrower = NgInitializeGrpcHandleException::new;
        check(thrower);
        Properties wanted = text(named, KEY_HOSTNAME) == null ? unnamed : named;
        try {
            String address =
                places.find(text(wanted, KEY_HOSTNAME), port(wanted), name, ofClass);
            Server known = servers.get(address);
            if (known == null) {
                known = translated(thrower, GRPC_SERVER_NOT_FOUND,
                    () -> address.isEmpty() ? Server.running() : Server.connect(address));
                // What a routine is a client of changes with its call.
                if (!address.isEmpty()) {
                    servers.put(address, known);
                }
            }
            return known;
        } catch (Places.Failure failure) {
            throw thrower.made(failure.code, failure.getMessage(), failure);
        }
    }

    /** A property, which programs put as text or as a number; null for "" and for none. */
    private static String text(Properties properties, String key) {
        Object put = properties == null ? null : properties.get(key);
        Object value = put == null && properties != null ? properties.getProperty(key) : put;
        return value == null || value.toString().isEmpty() ? null : value.toString();
    }

    /** The port of a server; 0 for none. */
    private static int port(Properties properties) throws GrpcException {
        String text = text(properties, KEY_PORT);
        try {
            return text == null ? 0 : Integer.parseInt(text.strip());
        } catch (NumberFormatException error) {
            throw new NgInitializeGrpcHandleException(GRPC_OTHER_ERROR_CODE,
                "get a handle: port is \"" + text + "\"; give a number", error);
        }
    }

    // ---- Errors
    // ---------------------------------------------------------------------------------------------

    /** The number of an error (spec/c-abi.md, section 10). */
    private static int code(ErrorKind kind, int notFound) {
        return switch (kind) {
            case UNREACHABLE -> GRPC_SERVER_NOT_FOUND;
            case NOT_FOUND, AMBIGUOUS -> notFound;
            case PERMISSION_DENIED, LIMIT_EXCEEDED, SHUTTING_DOWN, UNAVAILABLE, INTERFACE_CHANGED ->
                GRPC_RPC_REFUSED;
            case CONNECTION_LOST, PROTOCOL, VERSION, DAMAGED -> GRPC_COMMUNICATION_FAILED;
            case ROUTINE_CRASHED, ROUTINE_EXITED, ROUTINE_FAILED -> GRPC_SESSION_FAILED;
            case TIMED_OUT -> GRPC_TIMEOUT_NP;
            case CANCELLED -> GRPC_CANCELED_NP;
            case INVALID_ARGUMENT, INVALID_SOURCE, SYSTEM, INTERNAL -> GRPC_OTHER_ERROR_CODE;
        };
    }

    /** Which exception of Ninf-G's names a failure becomes. */
    private interface Thrower {
        NgException made(int code, String words, Exception cause);
    }

    /** What a function gives, and what it throws as an exception of GridRPC's. */
    private static <T> T translated(Thrower thrower, int notFound, Supplier<T> action)
        throws GrpcException
    {
        try {
            return action.get();
        } catch (FarcallException error) {
            throw thrower.made(code(error.kind(), notFound), error.getMessage(), error);
        }
    }

    /** The same where a handle is made. */
    private static <T> T bound(int notFound, Supplier<T> action) throws GrpcException {
        return translated(NgInitializeGrpcHandleException::new, notFound, action);
    }

    /** What a failed call throws. */
    private static NgException ofCall(int code, String words, Exception cause) {
        ErrorKind kind = cause instanceof FarcallException error ? error.kind() : null;
        if (kind == ErrorKind.INVALID_ARGUMENT) {
            return new NgArgTypeException(code, words, cause);
        }
        return kind == ErrorKind.CONNECTION_LOST
            ? new NgHeartbeatTimeoutException(code, words, cause)
            : new NgExecRemoteMethodException(code, words, cause);
    }

    // ---- Handles
    // ---------------------------------------------------------------------------------------------

    @Override
    public GrpcFunctionHandle getFunctionHandle(String function, Properties server)
        throws GrpcException
    {
        long began = System.nanoTime();
        Routine routine = routine(function, server);
        return new FunctionHandle(
            routine, null, 0, new long[] {began, System.nanoTime(), System.nanoTime()});
    }

    @Override
    public GrpcFunctionHandle getFunctionHandle(String function) throws GrpcException {
        return getFunctionHandle(function, null);
    }

    @Override
    public GrpcFunctionHandle[] getFunctionHandles(String function, Properties server, int count)
        throws GrpcException
    {
        long began = System.nanoTime();
        Routine routine = routine(function, server);
        long looked = System.nanoTime();
        Handles handles = bound(
            GRPC_FUNCTION_NOT_FOUND, () -> routine.hold(count));
        long[] times = {began, looked, System.nanoTime()};
        GrpcFunctionHandle[] made = new GrpcFunctionHandle[count];
        for (int i = 0; i < count; i++) {
            made[i] = new FunctionHandle(routine, handles, i, times);
        }
        return made;
    }

    @Override
    public GrpcFunctionHandle[] getFunctionHandles(String function, int count) throws GrpcException
    {
        return getFunctionHandles(function, null, count);
    }

    @Override
    public GrpcObjectHandle getObjectHandle(String name, Properties server) throws GrpcException {
        long began = System.nanoTime();
        Server on = server(server, name, true);
        RemoteObject object = bound(
            GRPC_CLASS_NOT_FOUND_NP, () -> RemoteObject.bare(on, name, 1, null)[0]);
        return new ObjectHandle(object, new long[] {began, began, System.nanoTime()});
    }

    @Override
    public GrpcObjectHandle getObjectHandle(String name) throws GrpcException {
        return getObjectHandle(name, null);
    }

    @Override
    public GrpcObjectHandle[] getObjectHandles(String name, Properties server, int count)
        throws GrpcException
    {
        long began = System.nanoTime();
        Server on = server(server, name, true);
        RemoteObject[] objects = bound(
            GRPC_CLASS_NOT_FOUND_NP, () -> RemoteObject.bare(on, name, count, null));
        long[] times = {began, began, System.nanoTime()};
        GrpcObjectHandle[] made = new GrpcObjectHandle[count];
        for (int i = 0; i < count; i++) {
            made[i] = new ObjectHandle(objects[i], times);
        }
        return made;
    }

    @Override
    public GrpcObjectHandle[] getObjectHandles(String name, int count) throws GrpcException {
        return getObjectHandles(name, null, count);
    }

    /** The routine of a function; the server is asked for its interface. */
    private Routine routine(String function, Properties server) throws GrpcException {
        Server on = server(server, function, false);
        return bound(
            GRPC_FUNCTION_NOT_FOUND, () -> on.routine(function));
    }

    /** How long the parts of a call took, from moments of this clock and the server's times. */
    private record Times(long[] handle, double total, double started, double ran)
        implements GrpcExecInfo
    {
        /** Until the interface was there. */
        @Override
        public double getLookupTime() {
            return (handle[1] - handle[0]) / 1e9;
        }

        /** Until the processes took calls. */
        @Override
        public double getInvokeTime() {
            return (handle[2] - handle[1]) / 1e9;
        }

        /** Until the routine began. */
        @Override
        public double getForeTime() {
            return started;
        }

        /** While it ran. */
        @Override
        public double getExecTime() {
            return ran;
        }

        /** What is left of the whole. */
        @Override
        public double getBackTime() {
            return Math.max(0, total - started - ran);
        }
    }

    /** The one call at a time that a handle makes. */
    private static final class Session {
        private volatile CallFuture current;
        private volatile boolean isCancelled;

        /** Its call returns null. */
        void cancel() {
            CallFuture call = current;
            if (call != null) {
                isCancelled = true;
                call.cancel(true);
            }
        }

        /** Whether a call is running. */
        boolean isBusy() {
            return current != null;
        }

        /** Makes a call and waits for its end; a second thread waits until the first one's is over.
         * Gives null for one that {@link #cancel} ended, as Ninf-G's client does. */
        synchronized GrpcExecInfo make(Supplier<Arguments> begin, Properties attributes,
            List<?> given, long[] times) throws GrpcException {
            List<Object> plain = Counterparts.plain(given);
            return translated(FarcallGrpcClient::ofCall, GRPC_FUNCTION_NOT_FOUND, () -> {
                Arguments call = begin.get();
                Positional positional = new Positional(call, plain);
                double limit = seconds(text(attributes, KEY_SESSION_TIMEOUT));
                if (limit > 0) {
                    call.timeout(Duration.ofMillis((long) (limit * 1000)));
                }
                long began = System.nanoTime();
                Results results = outcome(call);
                if (results == null) {
                    return null;
                }
                positional.store(results);
                Counterparts.giveBack(given == null ? List.of() : given, plain);
                double total = (System.nanoTime() - began) / 1e9;
                double started = results.startedSeconds();
                return new Times(times, total, started, results.finishedSeconds() - started);
            });
        }

        /** An attribute of a session that is a time; 0 for none. */
        private static double seconds(String text) {
            try {
                return text == null ? 0 : Double.parseDouble(text);
            } catch (NumberFormatException error) {
                throw FarcallException.of(ErrorKind.INVALID_ARGUMENT, "call",
                    "session_timeout is \"" + text + "\"", "give seconds");
            }
        }

        /** Waits in a way that an interrupt and {@link #cancel} end; null when the latter did. */
        private Results outcome(Arguments call) {
            isCancelled = false;
            current = call.submit();
            try {
                return current.get();
            } catch (InterruptedException error) {
                current.cancel(true);
                Thread.currentThread().interrupt();
                throw Connection.interrupted();
            } catch (CancellationException error) {
                if (isCancelled) {
                    return null;
                }
                throw FarcallException.of(
                    ErrorKind.CANCELLED, "call", "the call was cancelled", null);
            } catch (ExecutionException error) {
                throw Connection.thrown(error.getCause());
            } finally {
                current = null;
            }
        }
    }

    /** A function, and if it is one of several, which. */
    private static final class FunctionHandle extends NgGrpcFunctionHandle {
        private final Routine routine;
        private final Handles handles;
        private final int index;
        private final long[] times;
        private final Session session = new Session();
        private volatile boolean disposed;

        FunctionHandle(Routine routine, Handles handles, int index, long[] times) {
            this.routine = routine;
            this.handles = handles;
            this.index = index;
            this.times = times;
        }

        @Override
        public GrpcExecInfo callWith(Properties sessionAttributes, List<?> arguments)
            throws GrpcException
        {
            checkHandle(disposed);
            return session.make(()
                                    -> handles == null ? routine.with() : handles.with(index),
                sessionAttributes, arguments, times);
        }

        @Override
        public boolean isIdle() {
            return !session.isBusy();
        }

        @Override
        public void cancel() {
            session.cancel();
        }

        @Override
        public void dispose() throws GrpcException {
            disposed = true;
            session.cancel();
            if (handles != null) {
                translated(NgFinalizeGrpcHandleException::new, GRPC_OTHER_ERROR_CODE,
                    () -> handles.dispose(index));
            }
        }
    }

    /** GRPC_INVALID_FUNCTION_HANDLE after dispose. */
    private static void checkHandle(boolean disposed) throws GrpcException {
        if (disposed) {
            throw new NgExecRemoteMethodException(
                GRPC_INVALID_FUNCTION_HANDLE,
                "call: the handle was disposed of; make another one", null);
        }
    }

    /** An object. */
    private static final class ObjectHandle extends NgGrpcObjectHandle {
        private final RemoteObject object;
        private final long[] times;
        private final Session session = new Session();
        private volatile boolean disposed;

        ObjectHandle(RemoteObject object, long[] times) {
            this.object = object;
            this.times = times;
        }

        @Override
        public GrpcExecInfo invokeWith(
            String method, Properties sessionAttributes, List<?> arguments) throws GrpcException
        {
            checkHandle(disposed);
            return session.make(() -> object.with(method), sessionAttributes, arguments, times);
        }

        @Override
        public boolean isIdle() {
            return !session.isBusy();
        }

        @Override
        public void cancel() {
            session.cancel();
        }

        @Override
        public void dispose() throws GrpcException {
            disposed = true;
            session.cancel();
            translated(NgFinalizeGrpcHandleException::new, GRPC_OTHER_ERROR_CODE, () -> {
                object.close();
                return null;
            });
        }
    }
}
