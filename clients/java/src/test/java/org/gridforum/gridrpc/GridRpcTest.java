// The GridRPC interface: handles, arguments in the interface's layout, configuration, errors by
// number.
package org.gridforum.gridrpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.farcall.Callback;
import org.farcall.TestServers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class GridRpcTest {
    private GrpcClient client;

    @BeforeEach
    void activate() throws GrpcException {
        client = GrpcClientFactory.getClient("org.apgrid.grpc.ng.NgGrpcClient");
        Properties server = new Properties();
        server.setProperty("hostname", TestServers.address());
        client.activate(server);
    }

    @AfterEach
    void deactivate() throws GrpcException {
        client.deactivate();
    }

    /** The number of the error is that of grpc.h. */
    private static void fails(int code, Executable action) {
        GrpcException error = assertThrows(GrpcException.class, action);
        assertEquals(code, error.getErrorCode(), error.getMessage());
    }

    /** What lies between the columns and behind them stays. */
    @Test
    void matricesInTheLayoutOfTheInterface() throws GrpcException {
        GrpcFunctionHandle dgesv = client.getFunctionHandle("lapack/dgesv");
        // By columns, with a leading dimension of 3, and longer than it needs to be.
        double[] a = {4, 1, 77, 1, 3, 78, 79};
        double[] b = {1, 2, 80};
        int[] pivots = new int[2];
        int[] info = {-1};
        GrpcExecInfo times = dgesv.call(2, 1, a, 3, pivots, b, 3, info);
        assertArrayEquals(new double[] {1.0 / 11, 7.0 / 11, 80}, b, 1e-15);
        assertArrayEquals(new double[] {4, 0.25, 77, 1, 2.75, 78, 79}, a, 1e-15);
        assertEquals(0, info[0]);
        assertTrue(
            times.getExecTime() >= 0 && times.getForeTime() >= 0 && times.getBackTime() >= 0);
        assertTrue(times.getLookupTime() > 0 && times.getInvokeTime() >= 0);
        dgesv.dispose();
        fails(6, () -> dgesv.call(2, 1, a, 3, pivots, b, 3, info));
    }

    /** Results come in the arguments. */
    @Test
    void everyKindOfArgument(@TempDir Path folder) throws Exception {
        byte[] c = new byte[1];
        short[] s = new short[1];
        int[] i = new int[1];
        long[] l = new long[1];
        long[] u = new long[1];
        float[] f = new float[1];
        double[] d = new double[1];
        float[] z = new float[2];
        double[] w = new double[2];
        client.getFunctionHandle("scalars").callWith(
            List.of('x', 2, 3, 4L, 5, 0.5f, 1.5, new org.farcall.Complex(1, 2),
                new org.farcall.Complex(3, 4), c, s, i, l, u, f, d, z, w));
        assertEquals('x', c[0]);
        assertEquals(2 + 3 + 4 + 5, s[0] + i[0] + l[0] + u[0]);
        assertEquals(2, f[0] + d[0]);
        assertArrayEquals(new float[] {1, 2}, z);
        assertArrayEquals(new double[] {3, 4}, w);
        String[] greeting = new String[1];
        client.getFunctionHandle("greet").call("Ada", greeting);
        assertEquals("hello, Ada", greeting[0]);
        int[] n = {41};
        double[] x = {0.5};
        client.getFunctionHandle("grow").call(n, x);
        assertEquals(43.5, n[0] + x[0]);
        Path data = Files.writeString(folder.resolve("data"), "abc");
        Path result = folder.resolve("result");
        client.getFunctionHandle("reverse").call(data.toString(), result.toString());
        assertEquals("cba", Files.readString(result));
        double[] sum = new double[1];
        client.getFunctionHandle("trapezoid").call(0.0, 1.0, 100, sum, Callback.real(t -> t));
        assertEquals(0.5, sum[0], 1e-12);
        int[] m = new int[1];
        double[] y = {9, 9, 9, 9};
        client.getFunctionHandle("prefix").call(4, new double[] {3, 1, -1, 5}, m, y);
        assertEquals(2, m[0]);
        assertArrayEquals(new double[] {3, 1, 9, 9}, y);
    }

    /** Several by one request. */
    @Test
    void handlesAndObjects() throws GrpcException {
        GrpcFunctionHandle[] handles = client.getFunctionHandles("square", 2);
        double[] y = new double[1];
        for (GrpcFunctionHandle one : handles) {
            one.call(3.0, y);
            assertEquals(9, y[0]);
            one.dispose();
        }
        GrpcObjectHandle rod = client.getObjectHandle("rod/Rod");
        rod.invoke("_initialize", 3, 100.0);
        double[] t = new double[3];
        rod.invoke("get", 3, t);
        assertArrayEquals(new double[] {0, 100, 0}, t);
        rod.dispose();
        fails(6, () -> rod.invoke("get", 3, t));
        GrpcObjectHandle[] rods = client.getObjectHandles("rod/Rod", 2);
        assertEquals(2, rods.length);
        rods[0].invoke("_initialize", 3, 50.0);
        rods[1].invoke("_initialize", 3, 70.0);
        rods[0].dispose();
        rods[1].invoke("get", 3, t);
        assertArrayEquals(new double[] {0, 70, 0}, t);
        rods[1].dispose();
        fails(6, () -> rods[0].invoke("get", 3, t));
        fails(6, () -> rods[1].invoke("get", 3, t));
        assertThrows(GrpcException.class, () -> client.getObjectHandles("rod/Rod", -1));
    }

    /** From every way to fail. */
    @Test
    void errorsHaveTheNumbersOfTheHeader() throws Exception {
        fails(5, () -> client.getFunctionHandle("nothing"));
        fails(18, () -> client.getObjectHandle("Nothing"));
        fails(15, () -> client.activate(""));
        fails(10, () -> client.getFunctionHandle("crash").call(1));
        GrpcFunctionHandle square = client.getFunctionHandle("square");
        fails(13, () -> square.call(1.0));
        fails(13, () -> square.call(1.0, 2.0));
        fails(13,
            ()
                -> client.getFunctionHandle("dgesv").call(
                    2, 1, new double[3], 2, new int[2], new double[2], 2, new int[1]));
        Properties short_ = new Properties();
        short_.setProperty("session_timeout", "0.2");
        GrpcFunctionHandle loop = client.getFunctionHandle("loop");
        fails(19, () -> loop.call(short_, 1, new double[1]));
        CompletableFuture<GrpcExecInfo> cancelled = new CompletableFuture<>();
        Thread.startVirtualThread(() -> {
            try {
                cancelled.complete(loop.call(1, new double[1]));
            } catch (GrpcException error) {
                cancelled.completeExceptionally(error);
            }
        });
        while (!cancelled.isDone()) {
            loop.cancel();
            Thread.sleep(20);
        }
        assertNull(cancelled.get(10, TimeUnit.SECONDS));
        Properties nowhere = new Properties();
        nowhere.setProperty("hostname", "unix:/nonexistent/socket");
        fails(4, () -> client.getFunctionHandle("square", nowhere));
        GrpcClient idle = GrpcClientFactory.getClient();
        fails(1, () -> idle.getFunctionHandle("square"));
        fails(1, idle::deactivate);
        fails(13, () -> GrpcClientFactory.getClient("java.lang.String"));
        GrpcFunctionHandle prefix = client.getFunctionHandle("prefix");
        refused("parameter: x", () -> prefix.call(3, new double[2], new int[1], new double[3]));
        refused("has no room for a shape of [3]",
            () -> prefix.call(3, new double[2], new int[1], new double[3]));
        refused("float[], and the interface wants double elements",
            () -> prefix.call(3, new float[3], new int[1], new double[3]));
        refused("not 0", () -> prefix.callWith(null));
        refused("no.such.Client is not a client class",
            () -> GrpcClientFactory.getClient("no.such.Client"));
    }

    private static void refused(String words, Executable action) {
        GrpcException error = assertThrows(GrpcException.class, action);
        assertTrue(
            error.getErrorCode() == 13 && error.getMessage().contains(words), error.getMessage());
    }

    /** Sections by tag, and mistakes in files. */
    @Test
    void configurationFiles(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("client.conf"),
            "# a server\n<CLIENT>\nloglevel 3\n</CLIENT>\n<SERVER>\n  tag here\n  hostname \"" +
                TestServers.address() + "\"  # quoted\n</SERVER>\n");
        GrpcClient configured = GrpcClientFactory.getClient("");
        configured.activate(file.toString());
        double[] y = new double[1];
        configured.getFunctionHandle("square").call(3.0, y);
        Properties tag = new Properties();
        tag.setProperty("hostname", "here");
        configured.getFunctionHandle("square", tag).call(y[0], y);
        assertEquals(81, y[0]);
        configured.deactivate();
        // Launchers that have a counterpart: no such host is there, but that is what was looked
        // for, and how.
        Path launched = Files.writeString(folder.resolve("launched.conf"),
            "<SERVER>\n hostname far.invalid\n invoke_server Slurm\n"
                + " invoke_server_option \"ssh_user me\"\n invoke_server_option \"ssh_option " +
                  "-q\"\n</SERVER>\n");
        configured.activate(launched.toString());
        GrpcException unreached =
            assertThrows(GrpcException.class, () -> configured.getFunctionHandle("square"));
        assertTrue(unreached.getErrorCode() == 4 &&
                       unreached.getMessage().contains("ssh://me@far.invalid/slurm"),
            unreached.getMessage());
        configured.deactivate();
        fails(2, () -> configured.activate(folder.resolve("none").toString()));
        for (String wrong : new String[] {
                 "<SERVER>\n", "</SERVER>\n", "<SERVER>\n<SERVER>\n", "<SERVER>\n</CLIENT>\n"}) {
            Path broken = Files.writeString(folder.resolve("broken.conf"), wrong);
            fails(3, () -> configured.activate(broken.toString()));
        }
    }
}
