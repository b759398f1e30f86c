// The tests' server, for tests of other packages.
package org.farcall;

/** Where the server of {@link Servers} is. */
public final class TestServers {
    private TestServers() {}

    public static String address() {
        return Servers.shared().address();
    }

    /** What `make build` made. */
    public static java.nio.file.Path stage() {
        return Servers.STAGE;
    }
}
