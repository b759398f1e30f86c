// A trial of all areas of the Java API, as programs for Ninf-G 5 are written.
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.Vector;

import org.apgrid.grpc.ng.Dcomplex;
import org.apgrid.grpc.ng.NgArgTypeException;
import org.apgrid.grpc.ng.NgCallbackInterface;
import org.apgrid.grpc.ng.NgException;
import org.apgrid.grpc.ng.NgExecRemoteMethodException;
import org.apgrid.grpc.ng.NgGrpcClient;
import org.apgrid.grpc.ng.NgGrpcFunctionHandle;
import org.apgrid.grpc.ng.NgGrpcHandleAttr;
import org.apgrid.grpc.ng.NgGrpcSessionAttr;
import org.apgrid.grpc.ng.NgInitializeGrpcClientException;
import org.apgrid.grpc.ng.NgInitializeGrpcHandleException;
import org.apgrid.grpc.ng.Scomplex;
import org.gridforum.gridrpc.GrpcClient;
import org.gridforum.gridrpc.GrpcClientFactory;
import org.gridforum.gridrpc.GrpcException;
import org.gridforum.gridrpc.GrpcExecInfo;
import org.gridforum.gridrpc.GrpcFunctionHandle;
import org.gridforum.gridrpc.GrpcHandle;
import org.gridforum.gridrpc.GrpcObjectHandle;

public class Trials {
    private static final String CLIENT = "org.apgrid.grpc.ng.NgGrpcClient";
    private static int passed = 0;
    private static int failed = 0;

    private GrpcClient client;
    private String configuration;

    private static void check(String what, boolean holds) {
        if (holds) {
            passed++;
        } else {
            failed++;
            System.out.println("FAILED: " + what);
        }
    }

    private interface Trial {
        void run() throws Exception;
    }

    private void attempt(String what, Trial trial) {
        try {
            trial.run();
        } catch (Exception e) {
            failed++;
            System.out.println("FAILED: " + what + ": " + e);
            e.printStackTrace();
        }
    }

    // ---- data of every type ----

    private void data() throws GrpcException {
        int n = 5;
        GrpcFunctionHandle h = client.getFunctionHandle("trials/bytes");
        byte[] b = {1, 2, 3, 4, 5}, bo = new byte[n], bb = {10, 20, 30, 40, 50};
        byte[] bs = new byte[1];
        h.call(new Byte((byte) 7), new Integer(n), b, bo, bb, bs);
        check("bytes out", Arrays.equals(b, bo));
        check("bytes both", bb[0] == 17 && bb[4] == 57);
        check("bytes sum", bs[0] == 22);
        char[] c = {'a', 'b'}, co = new char[2], cb = {'A', 'B'}, cs = new char[1];
        h.call('\1', 2, c, co, cb, cs);
        check("characters", co[1] == 'b' && cb[0] == 'B' && cs[0] == (char) (1 + 'a' + 'b'));
        h.dispose();

        h = client.getFunctionHandle("trials/shorts");
        short[] s = {-1, 200, -300, 400, 5}, so = new short[n], sb = new short[n];
        short[] ss = new short[1];
        h.call((short) -7, n, s, so, sb, ss);
        check("shorts", Arrays.equals(s, so) && sb[3] == -7 && ss[0] == 297);
        h.dispose();

        h = client.getFunctionHandle("trials/ints");
        int[] i = {1, -2, 1 << 30, 4, 5}, io = new int[n], ib = {1, 1, 1, 1, 1}, is = new int[1];
        List arguments = new ArrayList();
        arguments.add(new Integer(100));
        arguments.add(new Integer(n));
        arguments.add(i);
        arguments.add(io);
        arguments.add(ib);
        arguments.add(is);
        GrpcExecInfo info = h.callWith(arguments);
        check("ints", Arrays.equals(i, io) && ib[2] == 101 && is[0] == (1 << 30) + 108);
        check("times", info.getLookupTime() >= 0 && info.getInvokeTime() >= 0
            && info.getForeTime() >= 0 && info.getExecTime() >= 0 && info.getBackTime() >= 0);
        h.dispose();

        h = client.getFunctionHandle("trials/longs");
        long[] l = {1L << 40, -1, 2}, lo = new long[3], lb = new long[3], ls = new long[1];
        h.call(3L, 3, l, lo, lb, ls);
        check("longs", Arrays.equals(l, lo) && lb[1] == 3 && ls[0] == (1L << 40) + 4);
        h.dispose();

        h = client.getFunctionHandle("trials/floats");
        float[] f = {1.5f, 2.5f}, fo = new float[2], fb = {1, 2}, fs = new float[1];
        h.call(new Float(0.5f), new Integer(2), f, fo, fb, fs);
        check("floats", Arrays.equals(f, fo) && fb[1] == 2.5f && fs[0] == 4.5f);
        h.dispose();

        h = client.getFunctionHandle("trials/doubles");
        double[] d = new double[10000], d2 = new double[10000], db = new double[10000];
        double[] ds = new double[1];
        double sum = 0.25;
        for (int k = 0; k < d.length; k++) {
            d[k] = k / 8.0;
            sum += d[k];
        }
        h.call(new Double(0.25), d.length, d, d2, db, ds);
        check("doubles", Arrays.equals(d, d2) && db[9999] == 0.25 && ds[0] == sum);
        h.dispose();
    }

    private static Scomplex single(float r, float i) {
        Scomplex made = new Scomplex();
        made.r = r;
        made.i = i;
        return made;
    }

    private static Dcomplex twice(double r, double i) {
        Dcomplex made = new Dcomplex();
        made.r = r;
        made.i = i;
        return made;
    }

    private void complexAndTexts() throws GrpcException {
        GrpcFunctionHandle h = client.getFunctionHandle("trials/complexes");
        Scomplex[] in = {single(1, 2), single(3, 4)};
        Scomplex[] out = {new Scomplex(), new Scomplex()};
        Dcomplex[] both = {twice(1, 1), twice(2, 2)};
        Dcomplex[] sum = {new Dcomplex()};
        h.call(single(10, 20), twice(100, 200), 2, in, out, both, sum);
        check("complex out", out[0].r == 2 && out[0].i == 1 && out[1].r == 4);
        check("complex both", both[1].r == 102 && both[1].i == -198);
        check("complex sum", sum[0].r == 114 && sum[0].i == 226);
        h.dispose();

        h = client.getFunctionHandle("trials/strings");
        String[] words = {"alpha", "", "gamma"}, copies = new String[3], joined = new String[1];
        h.call("<", 3, words, copies, joined);
        check("strings", Arrays.equals(words, copies) && joined[0].equals("<alphagamma"));
        h.dispose();

        h = client.getFunctionHandle("trials/multiply");
        double[][] a = {{1, 2}, {3, 4}}, b = {{0, 1}, {1, 0}}, c = new double[2][2];
        h.call(2, a, b, c);
        check("matrices by rows", c[0][0] == 2 && c[0][1] == 1 && c[1][0] == 4 && c[1][1] == 3);
        double[] flat = new double[4];
        h.call(2, new double[] {1, 2, 3, 4}, new double[] {2, 0, 0, 2}, flat);
        check("flat matrices", Arrays.equals(flat, new double[] {2, 4, 6, 8}));
        h.dispose();
    }

    // ---- ranges and strides, null arguments, zero elements ----

    private void ranges() throws GrpcException {
        GrpcFunctionHandle h = client.getFunctionHandle("trials/part");
        int[] in = {0, 1, 2, 3, 4, 5}, out = {-1, -1, -1, -1, -1, -1};
        h.call(6, 2, 5, in, out);
        check("a range", Arrays.equals(out, new int[] {-1, -1, 20, 30, 40, -1}));
        h.call(6, 0, 6, in, out);
        check("the whole", out[0] == 0 && out[5] == 50);
        h.dispose();

        h = client.getFunctionHandle("trials/stripe");
        double[] x = {1, 2, 3, 4, 5, 6}, y = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
        h.call(6, 2, x, y);
        check("a stride", Arrays.equals(y, new double[] {0.5, 1.5, 0.5, 3.5, 0.5, 5.5}));
        h.dispose();

        h = client.getFunctionHandle("trials/fill");
        int[] table = new int[12];
        Arrays.fill(table, -1);
        h.call(3, 4, table);
        check("leading dimension", table[0] == 0 && table[6] == 102 && table[10] == 202
            && table[3] == -1 && table[7] == -1);
        h.dispose();
    }

    private void nothing() throws GrpcException {
        GrpcFunctionHandle h = client.getFunctionHandle("trials/nothing");
        int[] what = new int[3];
        h.call(0, null, null, null, null, what);
        check("nulls", what[0] == 1 && what[1] == 1 && what[2] == 0);
        h.call(0, new double[0], new int[0], new short[0], "", what);
        check("no elements", what[0] == 1 && what[1] == 0);
        h.call(0, new double[4], new int[4], new short[4], "x", what);
        check("arrays that are not used", what[0] == 1 && what[1] == 0);
        h.call(1, new double[1], new int[1], new short[1], null, what);
        check("one element", what[0] == 0 && what[1] == 1 && what[2] == 1);
        h.dispose();
    }

    // ---- files ----

    private static byte[] content(String name) throws IOException {
        FileInputStream in = new FileInputStream(name);
        try {
            return in.readAllBytes();
        } finally {
            in.close();
        }
    }

    private static void write(String name, byte[] bytes) throws IOException {
        FileOutputStream out = new FileOutputStream(name);
        out.write(bytes);
        out.close();
    }

    private void files() throws Exception {
        byte[] bytes = new byte[70000];
        for (int k = 0; k < bytes.length; k++) {
            bytes[k] = (byte) (k * 31);
        }
        write("in.bin", bytes);
        write("out.bin", "what was there before".getBytes());
        GrpcFunctionHandle h = client.getFunctionHandle("trials/copy");
        long[] size = new long[1];
        h.call("in.bin", "out.bin", size);
        check("a binary file", size[0] == 70000 && Arrays.equals(bytes, content("out.bin")));
        write("empty", new byte[0]);
        h.call("empty", "out.txt", size);
        check("an empty file", size[0] == 0 && new File("out.txt").length() == 0);
        h.dispose();
        write("log.txt", "first\n".getBytes());
        h = client.getFunctionHandle("trials/append");
        h.call("log.txt", "second\n");
        h.call("log.txt", "third\n");
        check("a file both ways", new String(content("log.txt")).equals("first\nsecond\nthird\n"));
        h.dispose();
    }

    // ---- callbacks ----

    private static class Halve implements NgCallbackInterface {
        int times = 0;

        public void callback(List arguments) {
            int n = ((int[]) arguments.get(0))[0];
            double[] x = (double[]) arguments.get(1);
            int[] more = (int[]) arguments.get(2);
            times++;
            for (int k = 0; k < n; k++) {
                x[k] /= 2;
            }
            more[0] = x[0] > 1 ? 1 : 0;
        }
    }

    private void callbacks() throws GrpcException {
        GrpcFunctionHandle h = client.getFunctionHandle("trials/iterate");
        Halve halve = new Halve();
        double[] x = {100, 64};
        int[] rounds = new int[1];
        h.call(2, x, rounds, halve);
        check("a function is called back", rounds[0] == 7 && halve.times == 7);
        check("it leaves its results", x[0] == 100.0 / 128 && x[1] == 0.5);
        h.dispose();

        final List said = new Vector();
        NgCallbackInterface say = new NgCallbackInterface() {
            public void callback(List arguments) {
                said.add(((String[]) arguments.get(0))[0] + "/" + ((int[]) arguments.get(1))[0]);
            }
        };
        NgCallbackInterface count = new NgCallbackInterface() {
            public void callback(List arguments) {
                double[] sum = (double[]) arguments.get(0);
                sum[0] = 1;
                sum[1] = 2;
            }
        };
        h = client.getFunctionHandle("trials/tell");
        h.call(3, say, count);
        check("two functions", said.equals(
            Arrays.asList("round 0/0", "round 1/1", "round 2/2", "three/3")));
        h.dispose();

        h = client.getFunctionHandle("trials/tell");
        try {
            h.call(1, new NgCallbackInterface() {
                public void callback(List arguments) {
                    throw new IllegalStateException("not today");
                }
            }, count);
            check("a function that throws", false);
        } catch (NgException e) {
            check("a function that throws", e.getErrorCode() == 10);
        }
        h.dispose();
    }

    // ---- calls at the same time ----

    private static class Sleeper extends Thread {
        private final GrpcFunctionHandle handle;
        private final int milliseconds;
        final int[] process = new int[1];
        GrpcExecInfo info;
        Exception caught;

        Sleeper(GrpcFunctionHandle handle, int milliseconds) {
            this.handle = handle;
            this.milliseconds = milliseconds;
        }

        public void run() {
            try {
                info = handle.call(milliseconds, process);
            } catch (Exception e) {
                caught = e;
            }
        }
    }

    private void async() throws Exception {
        GrpcFunctionHandle[] handles = client.getFunctionHandles("trials/rest", 3);
        Sleeper[] sleepers = new Sleeper[3];
        for (int k = 0; k < 3; k++) {
            sleepers[k] = new Sleeper(handles[k], 100 + 50 * k);
            sleepers[k].start();
        }
        for (int k = 0; k < 3; k++) {
            sleepers[k].join();
            check("a call of a thread: " + sleepers[k].caught, sleepers[k].caught == null);
            check("its times", sleepers[k].info != null && sleepers[k].info.getExecTime() > 0.09);
        }
        check("each has a process of its own", sleepers[0].process[0] != sleepers[1].process[0]
            && sleepers[1].process[0] != sleepers[2].process[0]);
        check("they are idle", ((NgGrpcFunctionHandle) handles[0]).isIdle());
        for (GrpcHandle each : handles) {
            each.dispose();
        }

        Properties attributes = new Properties();
        attributes.put(NgGrpcHandleAttr.KEY_HOSTNAME, "here");
        attributes.put(NgGrpcHandleAttr.KEY_STARTTIMEOUT, new Integer(60));
        attributes.put(NgGrpcHandleAttr.KEY_STOPTIMEOUT, "20");
        attributes.put(NgGrpcHandleAttr.KEY_JOBMANAGER, "jobmanager-fork");
        GrpcFunctionHandle named = client.getFunctionHandle("trials/count", attributes);
        int[] n = new int[1];
        for (int k = 1; k <= 3; k++) {
            named.call(n);
            check("its process keeps what is static", n[0] == k);
        }
        named.dispose();
    }

    // ---- cancelling, time-outs, failures ----

    private void cancel() throws Exception {
        final GrpcFunctionHandle h = client.getFunctionHandle("trials/spin");
        final GrpcExecInfo[] info = {null};
        final Exception[] caught = {null};
        final boolean[] over = {false};
        Thread caller = new Thread() {
            public void run() {
                try {
                    info[0] = h.call(new int[1]);
                } catch (Exception e) {
                    caught[0] = e;
                }
                over[0] = true;
            }
        };
        caller.start();
        while (((NgGrpcFunctionHandle) h).isIdle() && !over[0]) {
            Thread.sleep(10);
        }
        Thread.sleep(100);
        check("it spins", !over[0]);
        h.cancel();
        caller.join(20000);
        check("it was cancelled", over[0] && info[0] == null && caught[0] == null);
        h.dispose();

        GrpcFunctionHandle rest = client.getFunctionHandle("trials/rest");
        rest.cancel();
        int[] process = new int[1];
        check("nothing is cancelled", rest.call(10, process) != null && process[0] > 0);
        Properties session = new Properties();
        session.put(NgGrpcSessionAttr.KEY_SESSION_TIMEOUT, "1");
        try {
            rest.call(session, 20000, process);
            check("a session's time has passed", false);
        } catch (GrpcException e) {
            check("a session's time has passed", e.getErrorCode() == 19);
        }
        rest.dispose();
        rest = client.getFunctionHandle("trials/rest");
        long began = System.currentTimeMillis();
        try {
            rest.call(20000, process);
            check("the time of FUNCTION_INFO has passed", false);
        } catch (GrpcException e) {
            check("the time of FUNCTION_INFO has passed", e.getErrorCode() == 19
                && System.currentTimeMillis() - began < 15000);
        }
        rest.dispose();
    }

    private void failures() throws Exception {
        GrpcFunctionHandle fall = client.getFunctionHandle("trials/fall");
        for (int how = 0; how < 2; how++) {
            try {
                fall.call(how);
                check("a routine falls", false);
            } catch (NgExecRemoteMethodException e) {
                check("a routine falls", e.getErrorCode() == 10 && e.getMessage() != null);
            }
        }
        fall.dispose();
        try {
            client.getFunctionHandle("trials/none");
            check("no such function", false);
        } catch (NgInitializeGrpcHandleException e) {
            check("no such function", e.getErrorCode() == 5);
        }
        GrpcFunctionHandle ints = client.getFunctionHandle("trials/ints");
        try {
            ints.call(1, 2);
            check("too few arguments", false);
        } catch (NgArgTypeException e) {
            check("too few arguments", e.str != null);
        }
        ints.dispose();
        try {
            client.activate(configuration);
            check("it is active", false);
        } catch (NgInitializeGrpcClientException e) {
            check("it is active", e.getErrorCode() == 15);
        }
        GrpcClient other = new NgGrpcClient();
        try {
            other.activate("missing.conf");
            check("no such file", false);
        } catch (GrpcException e) {
            check("no such file", e.getErrorCode() == 2);
        }
    }

    // ---- objects ----

    private void objects() throws GrpcException {
        GrpcObjectHandle[] counters = client.getObjectHandles("trials/counter", 2);
        int[] now = new int[1];
        counters[0].invoke("init", 10);
        counters[1].invoke("init", new Integer(20));
        counters[0].invoke("add", 5, now);
        check("an object", now[0] == 15);
        List arguments = new Vector();
        arguments.add(new Integer(7));
        arguments.add(now);
        counters[1].invokeWith("add", arguments);
        check("another", now[0] == 27);
        double[] x = {1, 2, 3}, y = new double[4];
        counters[0].invoke("keep", 3, x);
        counters[0].invoke("give", 4, y);
        check("an object's state", Arrays.equals(y, new double[] {1, 2, 3, 0}));
        counters[0].dispose();
        counters[1].dispose();
        GrpcObjectHandle one = client.getObjectHandle("trials/counter");
        one.invoke("init", 1);
        one.invoke("add", 1, now);
        check("a single object", now[0] == 2);
        one.dispose();
    }

    private void all(String name) throws GrpcException {
        configuration = name;
        client = GrpcClientFactory.getClient(CLIENT);
        client.activate(configuration);
        attempt("data", new Trial() { public void run() throws Exception { data(); } });
        attempt("complex", () -> complexAndTexts());
        attempt("ranges", () -> ranges());
        attempt("nothing", () -> nothing());
        attempt("files", () -> files());
        attempt("callbacks", () -> callbacks());
        attempt("async", () -> async());
        attempt("cancel", () -> cancel());
        attempt("failures", () -> failures());
        attempt("objects", () -> objects());
        client.deactivate();
    }

    public static void main(String[] args) throws Exception {
        Trials trials = new Trials();
        trials.all(args[0]);
        // A client may begin again.
        trials.all(args[0]);
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }
}
