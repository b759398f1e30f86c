// The GridRPC interface for Java, on this client.
package org.farcall;

import static org.farcall.Numbers.GRPC_ALREADY_INITIALIZED;
import static org.farcall.Numbers.GRPC_CANCELED_NP;
import static org.farcall.Numbers.GRPC_CLASS_NOT_FOUND_NP;
import static org.farcall.Numbers.GRPC_COMMUNICATION_FAILED;
import static org.farcall.Numbers.GRPC_CONFIGFILE_ERROR;
import static org.farcall.Numbers.GRPC_CONFIGFILE_NOT_FOUND;
import static org.farcall.Numbers.GRPC_FUNCTION_NOT_FOUND;
import static org.farcall.Numbers.GRPC_INVALID_FUNCTION_HANDLE;
import static org.farcall.Numbers.GRPC_NOT_INITIALIZED;
import static org.farcall.Numbers.GRPC_OTHER_ERROR_CODE;
import static org.farcall.Numbers.GRPC_RPC_REFUSED;
import static org.farcall.Numbers.GRPC_SERVER_NOT_FOUND;
import static org.farcall.Numbers.GRPC_SESSION_FAILED;
import static org.farcall.Numbers.GRPC_TIMEOUT_NP;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;
import org.gridforum.gridrpc.GrpcClient;
import org.gridforum.gridrpc.GrpcException;
import org.gridforum.gridrpc.GrpcExecInfo;
import org.gridforum.gridrpc.GrpcFunctionHandle;
import org.gridforum.gridrpc.GrpcObjectHandle;

/** A GridRPC client, made by GrpcClientFactory. Any number of threads may use it; it may be
 * activated again after its end. */
public final class FarcallGrpcClient implements GrpcClient {
    /** Where servers of other hosts listen if nothing else is said. */
    private static final String PORT = "7000";
    private static final String SSH_USER = "ssh_user";

    /** SERVER sections, in order; null when it is not active. */
    private List<Properties> sections;
    private final Map<String, Server> servers = new HashMap<>();

    /** A client that is not active. */
    public FarcallGrpcClient() {}

    // ---- Beginning and end
    // ---------------------------------------------------------------------------------------------

    @Override
    public void activate(String configuration) throws GrpcException {
        begin(configuration == null || configuration.isEmpty() ? List.of()
                                                               : read(Path.of(configuration)));
    }

    @Override
    public void activate(Properties server) throws GrpcException {
        begin(
            server == null || server.getProperty("hostname") == null ? List.of() : List.of(server));
    }

    /** Becomes active. Servers are connected to when a handle wants them. */
    private synchronized void begin(List<Properties> found) throws GrpcException {
        if (sections != null) {
            throw new GrpcException(
                GRPC_ALREADY_INITIALIZED,
                "activate: it is active already; deactivate it first", null);
        }
        sections = found;
    }

    /** The SERVER sections of a configuration file of Ninf-G's: attribute, blanks, value. */
    private static List<Properties> read(Path file) throws GrpcException {
        List<String> lines;
        try {
            lines = Files.readAllLines(file);
        } catch (IOException error) {
            // NoSuchFileException and its like say the file alone.
            throw new GrpcException(
                GRPC_CONFIGFILE_NOT_FOUND, "activate: the file cannot be read: " + error, error);
        }
        List<Properties> found = new ArrayList<>();
        String section = null;
        for (int number = 1; number <= lines.size(); number++) {
            String line = lines.get(number - 1).replaceFirst("#.*", "").strip();
            String where = file + ", line " + number + ": ";
            if (line.startsWith("</")) {
                section = closed(section, line, where);
            } else if (line.startsWith("<")) {
                section = opened(section, line, where);
                if (section.equals("server")) {
                    found.add(new Properties());
                }
            } else if (!line.isEmpty() && "server".equals(section)) {
                String[] words = line.split("\\s+", 2);
                String value = words.length > 1 ? words[1].replaceAll("^\"|\"$", "") : "";
                // Of a launcher's options, of which there may be several, this one counts.
                String name = value.startsWith(SSH_USER + " ")
                                  ? SSH_USER
                                  : words[0].toLowerCase(Locale.ROOT);
                found.get(found.size() - 1)
                    .setProperty(name,
                        value.substring(name.equals(SSH_USER) ? SSH_USER.length() : 0).strip());
            }
        }
        if (section != null) {
            throw new GrpcException(GRPC_CONFIGFILE_ERROR,
                file + ": a section has no end; write </" + section.toUpperCase(Locale.ROOT) + ">",
                null);
        }
        return found;
    }

    /** The line that begins a section: its name, in lower case. */
    private static String opened(String section, String line, String where) throws GrpcException {
        if (section != null || !line.endsWith(">")) {
            throw new GrpcException(
                GRPC_CONFIGFILE_ERROR,
                where + line + " stands inside a section, or has no >", null);
        }
        return line.substring(1, line.length() - 1).strip().toLowerCase(Locale.ROOT);
    }

    /** The line that ends one. */
    private static String closed(String section, String line, String where) throws GrpcException {
        if (section == null || !line.equalsIgnoreCase("</" + section + ">")) {
            throw new GrpcException(
                GRPC_CONFIGFILE_ERROR, where + line + " ends no section that was begun", null);
        }
        return null;
    }

    @Override
    public synchronized void deactivate() throws GrpcException {
        check();
        sections = null;
        servers.values().forEach(Server::close);
        servers.clear();
    }

    /** Every function but activate wants this first. */
    private void check() throws GrpcException {
        if (sections == null) {
            throw new GrpcException(
                GRPC_NOT_INITIALIZED, "the client is not active; call activate first", null);
        }
    }

    // ---- Servers
    // ---------------------------------------------------------------------------------------------

    /** The server of these properties, by the tag of a section or by its name; the default one for
     * none. */
    private synchronized Server server(Properties named) throws GrpcException {
        check();
        String name = named == null ? null : named.getProperty("hostname");
        Properties section = sections.isEmpty() ? new Properties() : sections.get(0);
        if (name != null) {
            section = sections.stream()
                          .filter(one -> name.equals(one.getProperty("tag")))
                          .findFirst()
                          .or(()
                                  -> sections.stream()
                                      .filter(one -> name.equals(one.getProperty("hostname")))
                                      .findFirst())
                          .orElse(named);
        }
        String address = address(section);
        Server known = servers.get(address);
        if (known != null) {
            return known;
        }
        Server made = translated(
            GRPC_SERVER_NOT_FOUND,
            () -> address.isEmpty() ? Server.connect() : Server.connect(address));
        servers.put(address, made);
        return made;
    }

    /** An address as it is; another host by TLS; "" for this host without a port, whose default
     * server is meant. */
    private static String address(Properties section) {
        String host = section.getProperty("hostname");
        String port = section.getProperty("port");
        if (host == null || host.isEmpty() || host.contains(":")) {
            return host == null ? "" : host;
        }
        if (port == null && isThisHost(host)) {
            return "";
        }
        String launched = port == null ? launched(section.getProperty("invoke_server", "")) : null;
        if (launched != null) {
            String user = section.getProperty(SSH_USER);
            return "ssh://" + (user == null ? "" : user + "@") + host + launched;
        }
        return "tls://" + host + ":" + (port == null ? PORT : port);
    }

    /** What stands behind a host that ssh reaches, for launchers of Ninf-G that have a counterpart;
     * otherwise null. */
    private static String launched(String launcher) {
        return switch (launcher) {
            case "SSH" -> "";
            case "Slurm", "SLURM" -> "/slurm";
            default -> null;
        };
    }

    /** Whether a name means this host. */
    private static boolean isThisHost(String host) {
        try {
            return host.equals("localhost") ||
                host.equals(InetAddress.getLocalHost().getHostName());
        } catch (UnknownHostException error) {
            return false;
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

    /** What a function gives, and what it throws as a GrpcException. */
    private static <T> T translated(int notFound, Supplier<T> action) throws GrpcException {
        try {
            return action.get();
        } catch (FarcallException error) {
            throw new GrpcException(code(error.kind(), notFound), error.getMessage(), error);
        }
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
        Handles handles = translated(GRPC_FUNCTION_NOT_FOUND, () -> routine.hold(count));
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
        Server on = server(server);
        RemoteObject object = translated(
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
        Server on = server(server);
        RemoteObject[] objects =
            translated(GRPC_CLASS_NOT_FOUND_NP, () -> RemoteObject.bare(on, name, count, null));
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
        Server on = server(server);
        return translated(GRPC_FUNCTION_NOT_FOUND, () -> on.routine(function));
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

        /** Its thread hears of it as GRPC_CANCELED_NP. */
        void cancel() {
            CallFuture call = current;
            if (call != null) {
                call.cancel(true);
            }
        }

        /** Makes a call and waits for its end; a second thread waits until the first one's is over.
         */
        synchronized GrpcExecInfo make(Supplier<Arguments> begin, Properties attributes,
            List<?> given, long[] times) throws GrpcException {
            return translated(GRPC_FUNCTION_NOT_FOUND, () -> {
                Arguments call = begin.get();
                Positional positional = new Positional(call, given);
                if (attributes != null && attributes.getProperty("session_timeout") != null) {
                    call.timeout(Duration.ofMillis(
                        (long) (seconds(attributes.getProperty("session_timeout")) * 1000)));
                }
                long began = System.nanoTime();
                Results results = outcome(call);
                positional.store(results);
                double total = (System.nanoTime() - began) / 1e9;
                double started = results.startedSeconds();
                return new Times(times, total, started, results.finishedSeconds() - started);
            });
        }

        /** An attribute of a session that is a time. */
        private static double seconds(String text) {
            try {
                return Double.parseDouble(text);
            } catch (NumberFormatException error) {
                throw FarcallException.of(ErrorKind.INVALID_ARGUMENT, "call",
                    "session_timeout is \"" + text + "\"", "give seconds");
            }
        }

        /** Waits in a way that an interrupt and {@link #cancel} end. */
        private Results outcome(Arguments call) {
            current = call.submit();
            try {
                return current.get();
            } catch (InterruptedException error) {
                current.cancel(true);
                Thread.currentThread().interrupt();
                throw Connection.interrupted();
            } catch (CancellationException error) {
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
    private static final class FunctionHandle extends GrpcFunctionHandle {
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
        public void cancel() {
            session.cancel();
        }

        @Override
        public void dispose() throws GrpcException {
            disposed = true;
            session.cancel();
            if (handles != null) {
                translated(GRPC_OTHER_ERROR_CODE, () -> handles.dispose(index));
            }
        }
    }

    /** GRPC_INVALID_FUNCTION_HANDLE after dispose. */
    private static void checkHandle(boolean disposed) throws GrpcException {
        if (disposed) {
            throw new GrpcException(
                GRPC_INVALID_FUNCTION_HANDLE,
                "call: the handle was disposed of; make another one", null);
        }
    }

    /** An object. */
    private static final class ObjectHandle extends GrpcObjectHandle {
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
        public void cancel() {
            session.cancel();
        }

        @Override
        public void dispose() throws GrpcException {
            disposed = true;
            session.cancel();
            translated(GRPC_OTHER_ERROR_CODE, () -> {
                object.close();
                return null;
            });
        }
    }
}
