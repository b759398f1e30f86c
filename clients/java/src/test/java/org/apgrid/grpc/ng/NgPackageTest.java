// The package that programs for Ninf-G import: constants, exceptions, complex types, functions.
package org.apgrid.grpc.ng;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.farcall.Server;
import org.gridforum.gridrpc.GrpcClient;
import org.gridforum.gridrpc.GrpcClientFactory;
import org.gridforum.gridrpc.GrpcException;
import org.gridforum.gridrpc.GrpcFunctionHandle;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class NgPackageTest {
    private static final String ROUTINES = """
        Module kinds;
        Define conjugate(IN int n, IN scomplex one, IN scomplex x[n], OUT scomplex y[n],
            INOUT dcomplex z[n], OUT dcomplex w[1])
        {
            for (int k = 0; k < n; k++) {
                y[k].r = x[k].r + one.r;
                y[k].i = -x[k].i;
                z[k].i = -z[k].i;
            }
            w[0].r = n;
            w[0].i = one.i;
        }
        Define upper(IN int n, INOUT char c[n], IN char add, OUT char last[1])
        {
            for (int k = 0; k < n; k++) c[k] += add - 'a';
            last[0] = c[n - 1];
        }
        Define add(IN int n, IN double a[n][n], IN double b[n][n], OUT double c[n][n])
        {
            for (int k = 0; k < n * n; k++) c[k] = a[k] + b[k];
        }
        Define visit(IN int n, IN double x[n], OUT double y[n], OUT int *sum,
            function(IN int n, IN double x[n], OUT double y[n], INOUT int s[1], IN dcomplex z,
                INOUT short m[2][3], IN string word, OUT string answer[1], IN char c))
        {
            dcomplex z = {1, 2};
            int s[1] = {40};
            short m[6] = {1, 2, 3, 4, 5, 6};
            char *answer[1] = {0};
            function(n, x, y, s, z, m, "word", answer, 'q');
            *sum = s[0] + 100 * m[5] + 1000 * strlen(answer[0]);
        }
        Define nulls(IN int n, IN double a[n], OUT double b[n], IN string s, OUT int what[2])
        {
            what[0] = a == NULL && b == NULL;
            what[1] = s == NULL;
        }
        """;

    private static Server server;
    private static GrpcClient client;

    @BeforeAll
    static void activate(@TempDir Path folder) throws Exception {
        server = Server.publish(Files.writeString(folder.resolve("kinds.idl"), ROUTINES));
        client = GrpcClientFactory.getClient("org.apgrid.grpc.ng.NgGrpcClient");
        Properties where = new Properties();
        where.put(NgGrpcHandleAttr.KEY_HOSTNAME, server.address());
        client.activate(where);
    }

    @AfterAll
    static void deactivate() throws Exception {
        client.deactivate();
        server.close();
    }

    private static Scomplex single(float real, float imaginary) {
        Scomplex made = new Scomplex();
        made.r = real;
        made.i = imaginary;
        return made;
    }

    private static Dcomplex twice(double real, double imaginary) {
        Dcomplex made = new Dcomplex();
        made.r = real;
        made.i = imaginary;
        return made;
    }

    @Test
    void theClientIsOneOfThatName() throws Exception {
        assertInstanceOf(NgGrpcClient.class, client);
        assertInstanceOf(NgGrpcClient.class, GrpcClientFactory.getClient(""));
        assertEquals(List.of("hostname", "port", "job_startTimeout", "session_timeout"),
            List.of(NgGrpcHandleAttr.KEY_HOSTNAME, NgGrpcHandleAttr.KEY_PORT,
                NgGrpcHandleAttr.KEY_STARTTIMEOUT, NgGrpcSessionAttr.KEY_SESSION_TIMEOUT));
    }

    @Test
    void complexNumbersHaveTheirTypes() throws Exception {
        Scomplex[] y = new Scomplex[2];
        Dcomplex[] z = {twice(1, 2), twice(3, 4)};
        Dcomplex[] w = new Dcomplex[1];
        client.getFunctionHandle("kinds/conjugate")
            .call(2, single(10, 5), new Scomplex[] {single(1, 2), single(3, 4)}, y, z, w);
        assertArrayEquals(
            new float[] {11, -2, 13, -4}, new float[] {y[0].r, y[0].i, y[1].r, y[1].i});
        assertArrayEquals(
            new double[] {1, -2, 3, -4}, new double[] {z[0].r, z[0].i, z[1].r, z[1].i});
        assertEquals(7, w[0].r + w[0].i);
    }

    @Test
    void lettersAndRowsAreTakenAsTheyAre() throws Exception {
        char[] letters = {'a', 'b'};
        char[] last = new char[1];
        client.getFunctionHandle("kinds/upper").call(2, letters, 'c', last);
        assertArrayEquals(new char[] {'c', 'd'}, letters);
        assertEquals('d', last[0]);
        byte[] bytes = {'a', 'b'};
        client.getFunctionHandle("kinds/upper").call(2, bytes, (byte) 'b', new byte[1]);
        assertArrayEquals(new byte[] {'b', 'c'}, bytes);
        double[][] sum = new double[2][2];
        client.getFunctionHandle("kinds/add")
            .call(2, new double[][] {{1, 2}, {3, 4}}, new double[][] {{10, 20}, {30, 40}}, sum);
        assertArrayEquals(new double[] {11, 22}, sum[0]);
        assertArrayEquals(new double[] {33, 44}, sum[1]);
    }

    /** Places for results, which the function fills. */
    @Test
    void functionsGetAllParameters() throws Exception {
        NgCallbackInterface function = arguments -> {
            assertEquals(9, arguments.size());
            double[] x = (double[]) arguments.get(1);
            double[] y = (double[]) arguments.get(2);
            for (int i = 0; i < ((int[]) arguments.get(0))[0]; i++) {
                y[i] = 2 * x[i];
            }
            ((int[]) arguments.get(3))[0] += (int) ((Dcomplex[]) arguments.get(4))[0].i;
            short[][] rows = (short[][]) arguments.get(5);
            assertArrayEquals(new short[] {4, 5, 6}, rows[1]);
            rows[1][2] = 7;
            assertEquals("word", ((String[]) arguments.get(6))[0]);
            ((String[]) arguments.get(7))[0] = "four";
            assertEquals('q', ((byte[]) arguments.get(8))[0]);
        };
        double[] y = new double[3];
        int[] sum = new int[1];
        client.getFunctionHandle("kinds/visit").call(3, new double[] {1, 2, 3}, y, sum, function);
        assertArrayEquals(new double[] {2, 4, 6}, y);
        assertEquals(4742, sum[0]);
    }

    @Test
    void whatHasNoElementsMayBeMissing() throws Exception {
        int[] what = new int[2];
        client.getFunctionHandle("kinds/nulls").call(0, null, null, null, what);
        assertArrayEquals(new int[] {1, 1}, what);
    }

    @Test
    void handlesAreOfTheirNames() throws Exception {
        assertEquals(true, ((NgGrpcFunctionHandle) client.getFunctionHandle("kinds/add")).isIdle());
    }

    private static void fails(Class<? extends GrpcException> with, int code, Executable action) {
        GrpcException error = assertThrows(with, action);
        assertEquals(code, error.getErrorCode(), error.getMessage());
        assertInstanceOf(NgException.class, error);
        assertEquals(error.getMessage(), error.str);
    }

    /** Each kind has its class, and the number of grpc.h. */
    @Test
    void failuresHaveTheirClasses() throws Exception {
        fails(NgInitializeGrpcClientException.class, 15, () -> client.activate(""));
        fails(NgInitializeGrpcClientException.class, 2, () -> new NgGrpcClient().activate("/none"));
        fails(NgFinalizeGrpcClientException.class, 1, () -> new NgGrpcClient().deactivate());
        fails(NgInitializeGrpcHandleException.class, 5, () -> client.getFunctionHandle("none"));
        Properties port = new Properties();
        port.put(NgGrpcHandleAttr.KEY_HOSTNAME, "localhost");
        port.put(NgGrpcHandleAttr.KEY_PORT, 1);
        fails(NgInitializeGrpcHandleException.class, 4,
            () -> client.getFunctionHandle("kinds/add", port));
        port.put(NgGrpcHandleAttr.KEY_PORT, "one");
        fails(NgInitializeGrpcHandleException.class, 13,
            () -> client.getFunctionHandle("kinds/add", port));
        GrpcFunctionHandle add = client.getFunctionHandle("kinds/add");
        fails(NgArgTypeException.class, 13, () -> add.call(2));
        add.dispose();
        fails(NgExecRemoteMethodException.class, 6, () -> add.call(2));
    }
}
