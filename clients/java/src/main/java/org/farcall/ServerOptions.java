// How to connect to a server, or how to start one.
package org.farcall;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Options of a connection:
 *
 * <pre>{@code
 * try (Server server = Server.options().address("tls://cluster:7000").timeout(Duration.ofSeconds(5)).connect()) { … }
 * }</pre>
 */
public final class ServerOptions {
    String address;
    String tokenFile;
    String program;
    final List<String> files = new ArrayList<>();
    final List<String> arguments = new ArrayList<>();
    double timeoutSeconds;
    /** 0: what the environment says; below: never. */
    double heartbeatSeconds;
    double reconnectSeconds;
    /** The server of the routine that this process runs. */
    boolean isRunning;

    ServerOptions() {}

    /** "unix:PATH", "ssh://[USER@]HOST[:PORT]", "tls://HOST:PORT" or "farcall://HOST:PORT". */
    public ServerOptions address(String where) {
        address = where;
        return this;
    }

    /** The file with a TCP server's token, $FARCALL_TOKEN_FILE by default; over TLS that with your
     * certificate. */
    public ServerOptions tokenFile(Path file) {
        tokenFile = file.toString();
        return this;
    }

    /** Time for connecting, for the start of a private server, and for each look-up later on; 30 s
     * by default. */
    public ServerOptions timeout(Duration limit) {
        timeoutSeconds = seconds(limit, "a timeout");
        return this;
    }

    /** After so long without a sign of life a server is taken for lost; Duration.ZERO: never. At
     * least a second. */
    public ServerOptions heartbeat(Duration time) {
        heartbeatSeconds = time.isZero() ? -1 : seconds(time, "a heartbeat");
        return this;
    }

    /** For so long calls wait for a connection over TCP or TLS that was lost; Duration.ZERO: they
     * end at once. */
    public ServerOptions reconnect(Duration time) {
        reconnectSeconds = time.isZero() ? -1 : seconds(time, "a time to reconnect");
        return this;
    }

    /** An interface file, or a Python file, that a private server publishes. */
    public ServerOptions publish(Path... paths) {
        for (Path one : paths) {
            files.add(one.toString());
        }
        return this;
    }

    /** The `farcall` program of a private server. */
    public ServerOptions program(Path file) {
        program = file.toString();
        return this;
    }

    /** More arguments of a private server's `farcall serve`. */
    public ServerOptions arguments(String... more) {
        arguments.addAll(List.of(more));
        return this;
    }

    private static double seconds(Duration given, String what) {
        if (given.isNegative() || given.isZero()) {
            throw FarcallException.of(ErrorKind.INVALID_ARGUMENT, "connect", what + " of " + given,
                "give a Duration above zero");
        }
        return given.toNanos() / 1e9;
    }

    /** Whether a server is started: with files, or where neither an address nor $FARCALL_SERVER
     * says another. */
    boolean isPrivate() {
        boolean forPrivate = !files.isEmpty() || program != null || !arguments.isEmpty();
        if (address != null && forPrivate) {
            String message = "files, program and arguments are for a private server, and an " +
                             "address names another";
            throw FarcallException.of(
                ErrorKind.INVALID_ARGUMENT, "connect", message, "leave out the address, or them");
        }
        String variable = System.getenv("FARCALL_SERVER");
        return forPrivate || address == null && (variable == null || variable.isEmpty());
    }

    /** Connects. Without an address to the server that $FARCALL_SERVER names, or to a private one,
     * which ends with the connection. */
    public Server connect() {
        return new Server(Connection.open(this));
    }
}
