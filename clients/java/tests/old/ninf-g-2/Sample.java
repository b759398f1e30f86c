// A program of the time of Ninf-G 2 and Java 1.4: raw collections, boxed numbers, threads.
import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;
import java.io.FileWriter;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.Properties;
import java.util.Vector;

import org.apgrid.grpc.ng.*;
import org.gridforum.gridrpc.*;

public class Sample {
    static int good = 0;
    static int bad = 0;

    static void expect(boolean holds, String what) {
        if (holds) {
            good = good + 1;
        } else {
            bad = bad + 1;
            System.out.println("wrong: " + what);
        }
    }

    /** A list of arguments. */
    static class Args {
        private Vector all = new Vector();

        Args add(Object one) {
            all.addElement(one);
            return this;
        }

        Args add(int one) {
            return add(new Integer(one));
        }

        List list() {
            return all;
        }
    }

    /** The area "data of every type". */
    static void dataTypes(GrpcClient client) throws GrpcException {
        GrpcFunctionHandle handle = client.getFunctionHandle("sample/kinds");
        byte[] c = new byte[1];
        short[] s = new short[1];
        int[] i = new int[1];
        long[] l = new long[1];
        float[] f = new float[1];
        double[] d = new double[1];
        Vector args = new Vector();
        args.addElement(new Byte((byte) 65));
        args.addElement(new Short((short) 300));
        args.addElement(new Integer(70000));
        args.addElement(new Long(1234567890123L));
        args.addElement(new Float(1.5f));
        args.addElement(new Double(2.25));
        args.addElement(c);
        args.addElement(s);
        args.addElement(i);
        args.addElement(l);
        args.addElement(f);
        args.addElement(d);
        handle.callWith(args);
        expect(c[0] == 66, "char");
        expect(s[0] == 301, "short");
        expect(i[0] == 70001, "int");
        expect(l[0] == 1234567890124L, "long");
        expect(f[0] == 2.5f, "float");
        expect(d[0] == 3.25, "double");
        handle.dispose();

        handle = client.getFunctionHandle("sample/arrays");
        double[] sums = new double[] {1, 1, 1, 1, 1, 1};
        handle.callWith(new Args().add(new Integer(3)).add(new byte[] {1, 2, 3})
            .add(new short[] {10, 20, 30}).add(new int[] {100, 200, 300})
            .add(new long[] {1000, 2000, 3000}).add(new float[] {0.5f, 0.5f, 0.5f})
            .add(new double[] {0.25, 0.25, 0.25}).add(sums).list());
        expect(sums[0] == 7 && sums[1] == 61 && sums[2] == 601, "arrays of integers");
        expect(sums[3] == 6001 && sums[4] == 2.5 && sums[5] == 1.75, "arrays of reals");
        handle.dispose();

        handle = client.getFunctionHandle("sample/mmul");
        int n = 8;
        double[][] A = new double[n][n];
        double[][] B = new double[n][n];
        double[][] C = new double[n][n];
        for (int row = 0; row < n; row++) {
            for (int column = 0; column < n; column++) {
                A[row][column] = row + column * 0.125;
                B[row][column] = row == column ? 2 : 0;
            }
        }
        args = new Vector();
        args.add(new Integer(n));
        args.add(A);
        args.add(B);
        args.add(C);
        GrpcExecInfo info = handle.callWith(args);
        boolean same = true;
        for (int row = 0; row < n; row++) {
            for (int column = 0; column < n; column++) {
                same = same && C[row][column] == 2 * A[row][column];
            }
        }
        expect(same, "a matrix");
        expect(info.getExecTime() >= 0 && info.getForeTime() >= 0, "times");
        handle.callWith(null, new Args().add(n).add(B).add(B).add(C).list());
        expect(C[3][3] == 4 && C[3][4] == 0, "no properties of the session");
        handle.dispose();

        handle = client.getFunctionHandle("sample/turn");
        Scomplex[] x = new Scomplex[4];
        Scomplex[] y = new Scomplex[4];
        for (int k = 0; k < 4; k++) {
            x[k] = new Scomplex();
            x[k].r = k;
            x[k].i = 10 * k;
            y[k] = new Scomplex();
        }
        handle.callWith(new Args().add(new Integer(4)).add(x).add(y).list());
        expect(y[3].r == -30 && y[3].i == 3, "scomplex");
        handle.dispose();
        handle = client.getFunctionHandle("sample/rotate");
        Dcomplex[] z = new Dcomplex[] {new Dcomplex(), new Dcomplex()};
        z[1].r = 0.5;
        z[1].i = 0.25;
        handle.callWith(new Args().add(new Integer(2)).add(z).list());
        expect(z[1].r == -0.25 && z[1].i == 0.5, "dcomplex");
        handle.dispose();

        handle = client.getFunctionHandle("sample/greet");
        String[] greeting = new String[1];
        handle.callWith(new Args().add("Ninf").add(greeting).list());
        expect("hello, Ninf".equals(greeting[0]), "string");
        handle.dispose();
    }

    /** The areas "null arguments" and "zero elements". */
    static void nullsAndZeros(GrpcClient client) throws GrpcException {
        GrpcFunctionHandle handle = client.getFunctionHandle("sample/nulls");
        int[] which = new int[2];
        Vector args = new Vector();
        args.add(null);
        args.add(new Integer(0));
        args.add(null);
        args.add(which);
        handle.callWith(args);
        expect(which[0] == 1 && which[1] == 1, "null is NULL");
        handle.callWith(new Args().add("").add(new Integer(1)).add(new int[] {5}).add(which)
            .list());
        expect(which[0] == 0 && which[1] == 0, "a text without letters is no NULL");
        handle.dispose();

        handle = client.getFunctionHandle("sample/zeros");
        int[] count = new int[1];
        handle.callWith(new Args().add(new Integer(0)).add(new double[0]).add(new float[0])
            .add(new int[0]).add(count).list());
        expect(count[0] == 3, "no elements are NULL");
        handle.callWith(new Args().add(new Integer(0)).add(new double[9]).add(new float[9])
            .add(new int[9]).add(count).list());
        expect(count[0] == 3, "nor are those of longer arrays");
        handle.callWith(new Args().add(new Integer(2)).add(new double[2]).add(new float[2])
            .add(new int[2]).add(count).list());
        expect(count[0] == 0, "two elements");
        handle.dispose();
    }

    /** The area "ranges and strides". */
    static void rangesAndStrides(GrpcClient client) throws GrpcException {
        GrpcFunctionHandle handle = client.getFunctionHandle("sample/band");
        double[] x = new double[] {2, 3, 4, 5, 6};
        handle.callWith(new Args().add(new Integer(5)).add(new Integer(1)).add(new Integer(4))
            .add(x).list());
        expect(x[0] == 2 && x[1] == 9 && x[2] == 16 && x[3] == 25 && x[4] == 6, "a band");
        handle.dispose();
        handle = client.getFunctionHandle("sample/comb");
        int[] teeth = new int[] {1, 2, 3, 4, 5, 6, 7};
        handle.callWith(new Args().add(new Integer(7)).add(new Integer(3)).add(teeth).list());
        expect(teeth[0] == -1 && teeth[3] == -4 && teeth[6] == -7, "a comb's teeth");
        expect(teeth[1] == 2 && teeth[2] == 3 && teeth[5] == 6, "and its gaps");
        handle.dispose();
    }

    static void write(String name, String text) throws IOException {
        FileWriter writer = new FileWriter(name);
        writer.write(text);
        writer.close();
    }

    static Vector lines(String name) throws IOException {
        Vector all = new Vector();
        BufferedReader reader = new BufferedReader(new FileReader(name));
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            all.addElement(line);
        }
        reader.close();
        return all;
    }

    /** The area "files". */
    static void files(GrpcClient client) throws GrpcException, IOException {
        write("small.txt", "one\ntwo\n");
        GrpcFunctionHandle handle = client.getFunctionHandle("sample/upcase");
        handle.callWith(new Args().add("small.txt").add("large.txt").list());
        Vector large = lines("large.txt");
        expect(large.size() == 2 && "TWO".equals(large.elementAt(1)), "a file in and one out");
        handle.dispose();
        handle = client.getFunctionHandle("sample/number");
        int[] count = new int[1];
        handle.callWith(new Args().add("small.txt").add(count).list());
        expect(count[0] == 2, "a file's lines");
        expect("2 lines".equals(lines("small.txt").elementAt(2)), "a file that comes back");
        handle.dispose();
        expect(new File("large.txt").delete(), "the file is this program's");
    }

    static class Parabola implements NgCallbackInterface {
        int asked = 0;

        public void callback(List args) {
            double x = ((double[]) args.get(0))[0];
            ((double[]) args.get(1))[0] = (x - 1.5) * (x - 1.5);
            asked = asked + 1;
        }
    }

    static class Progress implements NgCallbackInterface {
        Vector seen = new Vector();
        int last;

        public void callback(List args) {
            Iterator all = args.iterator();
            int done = ((int[]) all.next())[0];
            int n = ((int[]) all.next())[0];
            double[] x = (double[]) all.next();
            seen.add(((String[]) all.next())[0] + x[done] + (x.length == n ? "" : "?"));
            ((int[]) all.next())[0] = done == last ? 1 : 0;
        }
    }

    /** The area "callback". */
    static void callbacks(GrpcClient client) throws GrpcException {
        GrpcFunctionHandle handle = client.getFunctionHandle("sample/minimum");
        Parabola parabola = new Parabola();
        double[] at = new double[1];
        handle.callWith(new Args().add(new Double(-10)).add(new Double(10)).add(at).add(parabola)
            .list());
        expect(Math.abs(at[0] - 1.5) < 1e-5 && parabola.asked > 20, "a minimum");
        handle.dispose();
        handle = client.getFunctionHandle("sample/report");
        Progress progress = new Progress();
        progress.last = 2;
        double[] x = new double[5];
        handle.callWith(new Args().add(new Integer(5)).add(x).add(progress).list());
        expect(progress.seen.size() == 3 && "odd2.0".equals(progress.seen.elementAt(1)), "words");
        expect(x[2] == 3 && x[3] == 0, "it was stopped");
        handle.dispose();
    }

    static class Worker extends Thread {
        GrpcFunctionHandle handle;
        double seconds;
        int[] slices = new int[1];
        boolean returned = false;
        GrpcExecInfo info = null;
        GrpcException failure = null;

        Worker(GrpcFunctionHandle handle, double seconds) {
            this.handle = handle;
            this.seconds = seconds;
        }

        public void run() {
            try {
                Vector args = new Vector();
                args.add(new Double(seconds));
                args.add(slices);
                info = handle.callWith(args);
            } catch (GrpcException e) {
                failure = e;
            }
            returned = true;
        }
    }

    /** The area "async": calls of several threads at the same time. */
    static void async(GrpcClient client) throws Exception {
        Properties cluster = new Properties();
        cluster.setProperty(NgGrpcHandleAttr.KEY_HOSTNAME, "cluster");
        GrpcFunctionHandle[] handles = client.getFunctionHandles("sample/work", cluster, 4);
        Worker[] workers = new Worker[handles.length];
        for (int k = 0; k < workers.length; k++) {
            workers[k] = new Worker(handles[k], 0.1 * (k + 1));
            workers[k].start();
        }
        for (int k = 0; k < workers.length; k++) {
            workers[k].join();
            expect(workers[k].failure == null && workers[k].info != null, "worker " + k);
            expect(workers[k].slices[0] == 10 * (k + 1), "all of its work");
        }
        for (int k = 0; k < handles.length; k++) {
            handles[k].dispose();
        }
    }

    /** The area "cancel". */
    static void cancel(GrpcClient client) throws Exception {
        GrpcFunctionHandle handle = client.getFunctionHandle("sample/work");
        Worker worker = new Worker(handle, 60);
        worker.start();
        while (((NgGrpcFunctionHandle) handle).isIdle()) {
            Thread.sleep(5);
        }
        Thread.sleep(200);
        handle.cancel();
        worker.join(20000);
        expect(worker.returned && worker.info == null, "a call that asks is cancelled");
        handle.dispose();

        final GrpcFunctionHandle stubborn = client.getFunctionHandle("sample/stubborn");
        Thread thread = new Thread() {
            public void run() {
                try {
                    stubborn.callWith(new Args().add(new Integer(60)).list());
                } catch (GrpcException e) {
                    // Cancelled or failed: it has ended.
                }
            }
        };
        thread.start();
        Thread.sleep(300);
        stubborn.cancel();
        thread.join(20000);
        expect(!thread.isAlive(), "a call that does not ask is cancelled, too");
        stubborn.dispose();
    }

    public static void main(String[] args) {
        String file = args.length > 0 ? args[0] : "client.conf";
        GrpcClient client = null;
        try {
            client = GrpcClientFactory.getClient("org.apgrid.grpc.ng.NgGrpcClient");
            client.activate(file);
            dataTypes(client);
            nullsAndZeros(client);
            rangesAndStrides(client);
            files(client);
            callbacks(client);
            async(client);
            cancel(client);
            client.deactivate();
        } catch (GrpcException e) {
            e.printStackTrace();
            bad = bad + 1;
        } catch (Exception e) {
            e.printStackTrace();
            bad = bad + 1;
        }
        System.out.println(good + " passed, " + bad + " failed");
        System.exit(bad);
    }
}
