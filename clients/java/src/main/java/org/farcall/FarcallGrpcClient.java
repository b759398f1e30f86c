// The GridRPC interface for Java, on this client.
package org.farcall;

import static org.apgrid.grpc.ng.NgGrpcHandleAttr.KEY_HOSTNAME;
import static org.farcall.GrpcFailures.bound;
import static org.farcall.GrpcFailures.translated;
import static org.farcall.Numbers.GRPC_ALREADY_INITIALIZED;
import static org.farcall.Numbers.GRPC_CLASS_NOT_FOUND_NP;
import static org.farcall.Numbers.GRPC_FUNCTION_NOT_FOUND;
import static org.farcall.Numbers.GRPC_INVALID_FUNCTION_HANDLE;
import static org.farcall.Numbers.GRPC_NOT_INITIALIZED;
import static org.farcall.Numbers.GRPC_OTHER_ERROR_CODE;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.apgrid.grpc.ng.NgExecRemoteMethodException;
import org.apgrid.grpc.ng.NgFinalizeGrpcClientException;
import org.apgrid.grpc.ng.NgFinalizeGrpcHandleException;
import org.apgrid.grpc.ng.NgGrpcFunctionHandle;
import org.apgrid.grpc.ng.NgGrpcHandleAttr;
import org.apgrid.grpc.ng.NgGrpcObjectHandle;
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
    /** Properties of handles that the library reads, by the names of the configuration file. */
    private static final List<String> READ = List.of(KEY_HOSTNAME, NgGrpcHandleAttr.KEY_PORT,
        NgGrpcHandleAttr.KEY_STARTTIMEOUT, NgGrpcHandleAttr.KEY_STOPTIMEOUT,
        NgGrpcHandleAttr.KEY_MPI_NCPUS, NgGrpcHandleAttr.KEY_QUEUENAME,
        NgGrpcHandleAttr.KEY_JOBMANAGER, NgGrpcHandleAttr.KEY_SUBJECT);

    /** Time for the end of calls and processes when the virtual machine ends. */
    private static final long END_MILLISECONDS = 2000;
    private static volatile boolean ending;

    /** Where handles go; null when it is not active. */
    private Places places;
    /** The server of handles that name none; null for those that the configuration says. */
    private Properties unnamed;
    /** By their places among those of the configuration. */
    private final Map<Integer, Known> servers = new HashMap<>();
    /** Ends what the program has started when the virtual machine ends, of a signal, say. */
    private Thread atExit;

    /** A server, by the connection of this number. */
    private record Known(long connection, Server server) {}

    /** Where a handle goes, and how its calls are made there. */
    record Bound(Server server, GrpcSession.Way way) {
        Terms.Start start() {
            return way.terms().start();
        }
    }

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
        atExit = new Thread(this::endSoon, "farcall ends");
        try {
            Runtime.getRuntime().addShutdownHook(atExit);
        } catch (IllegalStateException isEnding) {
            atExit = null;
        }
    }

    @Override
    public synchronized void deactivate() throws GrpcException {
        check(NgFinalizeGrpcClientException::new);
        if (atExit != null) {
            try {
                Runtime.getRuntime().removeShutdownHook(atExit);
            } catch (IllegalStateException isEnding) {
                // It ends all that is left then.
            }
        }
        end();
    }

    /** Ends them before the virtual machine ends, which waits no longer than it has to. */
    private void endSoon() {
        ending = true;
        try {
            Thread worker =
                Thread.ofPlatform().daemon().name("farcall ends all").start(this::end);
            worker.join(END_MILLISECONDS);
        } catch (InterruptedException impatient) {
            Thread.currentThread().interrupt();
        }
    }

    /** Does not return where the virtual machine ends: the program is not to take the end of its
     * calls for an outcome. */
    static void holdBack() {
        while (ending) {
            LockSupport.park();
        }
    }

    /** Ends calls and processes. */
    private synchronized void end() {
        servers.values().forEach(known -> known.server.close());
        servers.clear();
        if (places != null) {
            places.close();
        }
        places = null;
    }

    /** Every function but activate wants this first. */
    private void check(GrpcFailures.Thrower thrower) throws GrpcException {
        if (places == null) {
            throw thrower.made(
                GRPC_NOT_INITIALIZED, "the client is not active; call activate first", null);
        }
    }

    // ---- Servers
    // ---------------------------------------------------------------------------------------------

    /** Where a handle of this function or class goes. */
    private synchronized Bound find(Properties named, String name, boolean ofClass)
        throws GrpcException
    {
        GrpcFailures.Thrower thrower = NgInitializeGrpcHandleException::new;
        check(thrower);
        Properties server = text(named, KEY_HOSTNAME) == null ? unnamed : named;
        try {
            Places.Found found = places.connect(wanted(named, server, name), name, ofClass);
            Terms terms = found.terms();
            Known known = servers.get(terms.place());
            if (known == null || known.connection != terms.connection()) {
                // One whose connection was lost lives for as long as somebody uses it.
                known =
                    new Known(terms.connection(), new Server(Connection.of(found.client())));
                servers.put(terms.place(), known);
            } else {
                found.client().close();
            }
            return new Bound(known.server, new GrpcSession.Way(places, terms));
        } catch (Places.Failure failure) {
            throw thrower.made(failure.code, failure.getMessage(), failure);
        }
    }

    /** What the properties ask for, in lines; what names the server is all of one's. */
    private static String wanted(Properties named, Properties server, String name)
        throws GrpcException
    {
        StringBuilder lines = new StringBuilder();
        for (String key : READ) {
            String own = text(named, key);
            String value = own == null ? text(server, key) : own;
            if (key.equals(NgGrpcHandleAttr.KEY_MPI_NCPUS)) {
                Object processes = named == null ? null : named.get(key);
                value = processes instanceof Properties each
                    ? text(each, text(each, name) == null ? "" : name)
                    : value;
            }
            if (value != null && value.indexOf('\n') >= 0) {
                throw new NgInitializeGrpcHandleException(
                    GRPC_OTHER_ERROR_CODE, "get a handle: " + key + " has a line break", null);
            }
            lines.append(value == null ? "" : key + "=" + value + "\n");
        }
        return lines.toString();
    }

    /** A property, which programs put as text or as a number; null for "" and for none. */
    static String text(Properties properties, String key) {
        Object put = properties == null ? null : properties.get(key);
        Object value = put == null && properties != null ? properties.getProperty(key) : put;
        return value == null || value.toString().isEmpty() ? null : value.toString();
    }

    // ---- Handles
    // ---------------------------------------------------------------------------------------------

    @Override
    public GrpcFunctionHandle getFunctionHandle(String function, Properties server)
        throws GrpcException
    {
        return new FunctionHandle(this, function, server);
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
        Bound on = find(server, function, false);
        Routine routine = bound(GRPC_FUNCTION_NOT_FOUND, () -> on.server.routine(function));
        long looked = System.nanoTime();
        Handles handles =
            bound(GRPC_FUNCTION_NOT_FOUND, () -> new Handles(routine, count, on.start()));
        long[] times = {began, looked, System.nanoTime()};
        GrpcFunctionHandle[] made = new GrpcFunctionHandle[count];
        for (int i = 0; i < count; i++) {
            made[i] = new ArrayHandle(on.way, handles, i, times);
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
        return getObjectHandles(name, server, 1)[0];
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
        Bound on = find(server, name, true);
        RemoteObject[] objects = bound(GRPC_CLASS_NOT_FOUND_NP,
            () -> RemoteObject.bare(on.server, name, count, null, on.start()));
        long[] times = {began, began, System.nanoTime()};
        GrpcObjectHandle[] made = new GrpcObjectHandle[count];
        for (int i = 0; i < count; i++) {
            made[i] = new ObjectHandle(on.way, objects[i], times);
        }
        return made;
    }

    @Override
    public GrpcObjectHandle[] getObjectHandles(String name, int count) throws GrpcException {
        return getObjectHandles(name, null, count);
    }

    /** GRPC_INVALID_FUNCTION_HANDLE after dispose. */
    private static void checkHandle(boolean disposed) throws GrpcException {
        if (disposed) {
            throw new NgExecRemoteMethodException(
                GRPC_INVALID_FUNCTION_HANDLE,
                "call: the handle was disposed of; make another one", null);
        }
    }

    /** A function. Its calls go on at its server after a lost connection. */
    private static final class FunctionHandle extends NgGrpcFunctionHandle {
        private final FarcallGrpcClient client;
        private final String function;
        private final Properties server;
        private final GrpcSession session = new GrpcSession();
        private volatile boolean disposed;
        private Bound bound;
        private Routine routine;
        /** Where a server was named. */
        private OwnProcess own;
        private long[] times;

        FunctionHandle(FarcallGrpcClient client, String function, Properties server)
            throws GrpcException
        {
            this.client = client;
            this.function = function;
            this.server = server;
            bind();
        }

        private void bind() throws GrpcException {
            long began = System.nanoTime();
            Bound on = client.find(server, function, false);
            routine = bound(GRPC_FUNCTION_NOT_FOUND, () -> on.server.routine(function));
            own = text(server, KEY_HOSTNAME) == null ? null : new OwnProcess(on.start());
            times = new long[] {began, System.nanoTime(), System.nanoTime()};
            bound = on;
        }

        @Override
        public synchronized GrpcExecInfo callWith(Properties sessionAttributes, List<?> arguments)
            throws GrpcException
        {
            checkHandle(disposed);
            if (bound == null) {
                bind();
            }
            try {
                GrpcExecInfo info = session.make(bound.way,
                    () -> own == null ? routine.with() : own.with(routine), sessionAttributes,
                    arguments, times);
                if (info == null && own != null) {
                    own.spoil();
                }
                return info;
            } catch (GrpcException error) {
                lose(error);
                throw error;
            }
        }

        /** What the next call is made without: the connection, or the process. */
        private void lose(GrpcException error) {
            ErrorKind kind =
                error.getCause() instanceof FarcallException cause ? cause.kind() : null;
            if (own != null && kind != ErrorKind.INVALID_ARGUMENT) {
                own.spoil();
            }
            if (kind == ErrorKind.CONNECTION_LOST) {
                bound = null;
            }
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
            end();
        }

        private synchronized void end() throws GrpcException {
            if (own != null) {
                translated(NgFinalizeGrpcHandleException::new, GRPC_OTHER_ERROR_CODE, () -> {
                    own.close();
                    return null;
                });
            }
        }
    }

    /** One of several handles of a function. */
    private static final class ArrayHandle extends NgGrpcFunctionHandle {
        private final GrpcSession.Way way;
        private final Handles handles;
        private final int index;
        private final long[] times;
        private final GrpcSession session = new GrpcSession();
        private volatile boolean disposed;

        ArrayHandle(GrpcSession.Way way, Handles handles, int index, long[] times) {
            this.way = way;
            this.handles = handles;
            this.index = index;
            this.times = times;
        }

        @Override
        public GrpcExecInfo callWith(Properties sessionAttributes, List<?> arguments)
            throws GrpcException
        {
            checkHandle(disposed);
            return session.make(
                way, () -> handles.with(index), sessionAttributes, arguments, times);
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
            translated(NgFinalizeGrpcHandleException::new, GRPC_OTHER_ERROR_CODE,
                () -> handles.dispose(index));
        }
    }

    /** An object. */
    private static final class ObjectHandle extends NgGrpcObjectHandle {
        private final GrpcSession.Way way;
        private final RemoteObject object;
        private final long[] times;
        private final GrpcSession session = new GrpcSession();
        private volatile boolean disposed;

        ObjectHandle(GrpcSession.Way way, RemoteObject object, long[] times) {
            this.way = way;
            this.object = object;
            this.times = times;
        }

        @Override
        public GrpcExecInfo invokeWith(
            String method, Properties sessionAttributes, List<?> arguments) throws GrpcException
        {
            checkHandle(disposed);
            return session.make(
                way, () -> object.with(method), sessionAttributes, arguments, times);
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
