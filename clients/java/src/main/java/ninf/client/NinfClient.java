// The client of the first Ninf for Java, on this client.
package ninf.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Vector;
import ninf.basic.NinfException;
import org.apgrid.grpc.ng.NgCallbackInterface;
import org.apgrid.grpc.ng.NgGrpcHandleAttr;
import org.farcall.FarcallGrpcClient;
import org.gridforum.gridrpc.GrpcClient;
import org.gridforum.gridrpc.GrpcException;
import org.gridforum.gridrpc.GrpcExecInfo;
import org.gridforum.gridrpc.GrpcFunctionHandle;

/**
 * Calls functions of a server by their names: `function`, `module/function` or `ninf://HOST:PORT/module/function`. Arguments
 * are all parameters, in order: boxed numbers, texts, arrays, arrays of arrays, functions as {@link CallbackFunc}; OUT and INOUT
 * numbers and texts are arrays of one. An array of numbers may be a URL, from where the server fetches it. Any number of threads
 * may use a client.
 */
public class NinfClient {
    /** Options of programs' arguments that have a value, and those that have none and no effect. */
    private static final List<String> VALUES =
        List.of("-map", "-callback_port", "-ssl_cert", "-ssl_key", "-cproxy");
    private static final List<String> FLAGS = List.of(
        "-privileged", "-shell", "-shell_callback", "-log_record", "-ssl", "-debug", "-quiet");
    private static final String[] SCHEMES = {"ninf://", "http://"};
    private static String defaultHost = variable("NINF_SERVER");
    private static int defaultPort = number(variable("NINF_SERVER_PORT"));

    private final String host;
    private final int port;
    /** Those that calls were made with, by the place of their server. */
    private final Map<Place, GrpcClient> clients = new HashMap<>();
    private volatile boolean verbose;

    /** Where a function is; no host for this user's own server, and 0 for the usual port. */
    private record Place(String host, int port) {
        Properties server() {
            Properties made = new Properties();
            if (host != null) {
                made.put(NgGrpcHandleAttr.KEY_HOSTNAME, host);
                made.put(NgGrpcHandleAttr.KEY_PORT, port);
            }
            return made;
        }
    }

    /** A function's name, and where it is. */
    private record Entry(String name, Place place) {}

    /** A client of the server that {@link #parseArg} was given, or $NINF_SERVER and
     * $NINF_SERVER_PORT; without any, of this user's own. */
    public NinfClient() throws NinfException {
        this(null, 0);
    }

    /** A client of the server there. Null and 0: as without. */
    public NinfClient(String host, int port) throws NinfException {
        String named = host == null || host.isEmpty() ? defaultHost() : host;
        this.port = port > 0 ? port : defaultPort();
        // A port alone is one of this host.
        this.host = named == null && this.port > 0 ? "localhost" : named;
    }

    /** The same with the port as text. */
    public NinfClient(String host, String port) throws NinfException {
        this(host, number(port));
    }

    // ---- Servers
    // ---------------------------------------------------------------------------------------------

    private static String variable(String name) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? null : value;
    }

    private static int number(String text) {
        try {
            return text == null ? 0 : Integer.parseInt(text.strip());
        } catch (NumberFormatException error) {
            return 0;
        }
    }

    private static synchronized String defaultHost() {
        return defaultHost;
    }

    private static synchronized int defaultPort() {
        return defaultPort;
    }

    /** Takes `-server HOST`, `-port PORT` and the other options of Ninf out of a program's
     * arguments: the rest. */
    public static synchronized String[] parseArg(String[] arguments) {
        List<String> rest = new ArrayList<>();
        for (int i = 0; i < arguments.length; i++) {
            String option = arguments[i];
            boolean isServer = option.equals("-server");
            boolean isPort = option.equals("-port");
            if (!isServer && !isPort && !VALUES.contains(option)) {
                if (!FLAGS.contains(option)) {
                    rest.add(option);
                }
                continue;
            }
            if (++i == arguments.length) {
                throw new IllegalArgumentException(option + " needs a value");
            }
            if (isServer) {
                defaultHost = arguments[i];
            } else if (isPort) {
                defaultPort = number(arguments[i]);
            }
        }
        return rest.toArray(new String[0]);
    }

    /** Each call prints its times. */
    public void verbose() {
        verbose = true;
    }

    /** The client of a server: handles that name none go there, and to whatever process is free. */
    private synchronized GrpcClient client(Place place) throws GrpcException {
        GrpcClient known = clients.get(place);
        if (known == null) {
            known = new FarcallGrpcClient();
            known.activate(place.server());
            clients.put(place, known);
        }
        return known;
    }

    /** Ends the connections. A later call connects again. */
    public synchronized void disconnect() {
        for (GrpcClient one : clients.values()) {
            try {
                one.deactivate();
            } catch (GrpcException error) {
                throw new AssertionError("an active client can be deactivated", error);
            }
        }
        clients.clear();
    }

    private Entry entry(String text) throws NinfException {
        String name = text.endsWith("()") ? text.substring(0, text.length() - 2) : text;
        String place = host;
        int number = port;
        for (String scheme : SCHEMES) {
            if (!name.startsWith(scheme)) {
                continue;
            }
            String[] parts = name.substring(scheme.length()).split("/", 2);
            String[] where = parts[0].split(":", 2);
            if (parts.length < 2 || where[0].isEmpty()) {
                throw new NinfException(
                    "malformed entry \"" + text + "\": write ninf://HOST:PORT/module/function");
            }
            place = where[0];
            number = where.length > 1 ? number(where[1]) : 0;
            name = parts[1];
        }
        return new Entry(name, new Place(place, number));
    }

    // ---- Calls
    // ---------------------------------------------------------------------------------------------

    /** Calls a function with all of its arguments, in order, and waits for its end. */
    public NinfExecInfo call(String name, @SuppressWarnings("rawtypes") Vector arguments)
        throws NinfException
    {
        Entry entry = entry(name);
        try {
            GrpcFunctionHandle function =
                client(entry.place).getFunctionHandle(entry.name);
            List<Object> given = new ArrayList<>();
            for (Object one : arguments) {
                given.add(counterpart(one));
            }
            GrpcExecInfo times = function.callWith(given);
            NinfExecInfo info = new NinfExecInfo(times);
            if (verbose) {
                System.err.println(name + ": " + info);
            }
            return info;
        } catch (GrpcException error) {
            throw new NinfException(name + ": " + error.getMessage(), error);
        }
    }

    /** A function as Ninf-G's client takes it; anything else as it is. */
    private static Object counterpart(Object given) {
        if (given instanceof CallbackFunc function) {
            return called(function);
        }
        return given;
    }

    private static NgCallbackInterface called(CallbackFunc function) {
        return arguments -> function.callback(vector(arguments));
    }

    @SuppressWarnings({"rawtypes", "unchecked"})
    private static Vector vector(List arguments) {
        return new Vector(arguments);
    }

    private static Vector<Object> list(Object... arguments) {
        return new Vector<>(Arrays.asList(arguments));
    }

    // Overloads, and no variable arity: an array of arrays would be taken for the arguments.

    /** Calls a function without arguments. */
    public NinfExecInfo callWith(String name) throws NinfException {
        return call(name, list());
    }

    /** Calls a function, with its arguments one by one. */
    public NinfExecInfo callWith(String name, Object a1) throws NinfException {
        return call(name, list(a1));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2) throws NinfException {
        return call(name, list(a1, a2));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2, Object a3)
        throws NinfException
    {
        return call(name, list(a1, a2, a3));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2, Object a3, Object a4)
        throws NinfException
    {
        return call(name, list(a1, a2, a3, a4));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2, Object a3, Object a4, Object a5)
        throws NinfException
    {
        return call(name, list(a1, a2, a3, a4, a5));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2, Object a3, Object a4, Object
        a5, Object a6)
        throws NinfException
    {
        return call(name, list(a1, a2, a3, a4, a5, a6));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2, Object a3, Object a4, Object
        a5, Object a6, Object a7)
        throws NinfException
    {
        return call(name, list(a1, a2, a3, a4, a5, a6, a7));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2, Object a3, Object a4, Object
        a5, Object a6, Object a7, Object a8)
        throws NinfException
    {
        return call(name, list(a1, a2, a3, a4, a5, a6, a7, a8));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2, Object a3, Object a4, Object
        a5, Object a6, Object a7, Object a8, Object a9)
        throws NinfException
    {
        return call(name, list(a1, a2, a3, a4, a5, a6, a7, a8, a9));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2, Object a3, Object a4, Object
        a5, Object a6, Object a7, Object a8, Object a9, Object a10)
        throws NinfException
    {
        return call(name, list(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2, Object a3, Object a4, Object
        a5, Object a6, Object a7, Object a8, Object a9, Object a10, Object a11)
        throws NinfException
    {
        return call(name, list(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11));
    }

    /** The same. */
    public NinfExecInfo callWith(String name, Object a1, Object a2, Object a3, Object a4, Object
        a5, Object a6, Object a7, Object a8, Object a9, Object a10, Object a11, Object a12)
        throws NinfException
    {
        return call(name, list(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12));
    }
}
