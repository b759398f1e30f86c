// A client of the first Ninf in Java.
import java.io.*;
import java.util.Vector;
import ninf.basic.*;
import ninf.client.*;

class Gauss implements CallbackFunc {
    int times = 0;

    public void callback(Vector args) {
        double x[] = (double[]) args.elementAt(0);
        double y[] = (double[]) args.elementAt(1);
        y[0] = Math.exp(-x[0] * x[0]);
        times++;
    }
}

class Napper extends Thread {
    NinfClient client;
    int slept[] = new int[1];

    Napper(NinfClient client) {
        this.client = client;
    }

    public void run() {
        try {
            client.callWith("library/nap", new Integer(300), slept);
        } catch (NinfException e) {
            System.out.println(e);
        }
    }
}

public class Client {
    static int passed = 0, failed = 0;

    static void check(boolean holds, String what) {
        if (holds) {
            passed++;
        } else {
            failed++;
            System.out.println("failed: " + what);
        }
    }

    static void data(NinfClient client) throws NinfException {
        byte c[] = new byte[1];
        short s[] = new short[1];
        int l[] = new int[1];
        float f[] = new float[1];
        double d[] = new double[1];
        client.callWith("library/kinds", new Byte((byte) 'x'), new Short((short) 7), new Integer(8),
            new Float(0.5f), new Double(0.25), c, s, l, f, d);
        check(c[0] == 'x' && s[0] == -7 && l[0] == -8 && f[0] == -0.5f && d[0] == -0.25, "numbers");
        double sums[] = {1, 2};
        Vector args = new Vector();
        args.addElement(new Integer(2));
        args.addElement(new byte[] {1, 1});
        args.addElement(new short[] {10, 10});
        args.addElement(new int[] {100, 200});
        args.addElement(new float[] {0.5f, 0.5f});
        args.addElement(sums);
        client.call("library/vectors", args);
        check(sums[0] == 112.5 && sums[1] == 213.5, "arrays");
        String out[] = new String[1];
        client.callWith("library/text", "ninf", out);
        check("NINF".equals(out[0]), "a text");
    }

    static void matrices(NinfClient client) throws NinfException {
        int n = 3;
        double A[][] = new double[n][n], B[][] = new double[n][n], C[][] = new double[n][n];
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                A[i][j] = 10 * i + j;
                B[i][j] = i == j ? 3 : 0;
            }
        }
        NinfExecInfo info = client.callWith("mmul", new Integer(n), A, B, C);
        check(info != null && info.toString().length() > 0, "times");
        check(C[2][1] == 63 && C[0][2] == 6, "matrices");
    }

    static void edges(NinfClient client) throws NinfException {
        int what[] = new int[2];
        client.callWith("library/none", new Integer(0), new double[0], new double[0], null, what);
        check(what[0] == 1 && what[1] == 1, "nothing at all");
        client.callWith("library/none", new Integer(0), null, null, "", what);
        check(what[0] == 1 && what[1] == 0, "null arrays");
        int a[] = {0, 1, 2, 3, 4, 5, 6, 7}, b[] = new int[8];
        client.callWith("library/some", new Integer(8), new Integer(1), new Integer(7),
            new Integer(2), a, b);
        check(b[1] == 1001 && b[3] == 1003 && b[5] == 1005 && b[2] == 0 && b[7] == 0, "a part");
    }

    static void files(NinfClient client) throws NinfException, IOException {
        FileWriter writer = new FileWriter("in.txt");
        writer.write("a\nb\n");
        writer.close();
        int count[] = new int[1];
        client.callWith("library/lines", "in.txt", "out.txt", count);
        BufferedReader reader = new BufferedReader(new FileReader("out.txt"));
        check(count[0] == 2 && "a;b;".equals(reader.readLine()), "files");
        reader.close();
    }

    static void functions(NinfClient client) throws NinfException {
        Gauss gauss = new Gauss();
        double sum[] = new double[1];
        client.callWith("library/integrate", new Double(-5), new Double(5), new Integer(200), sum,
            gauss);
        check(gauss.times == 200 && Math.abs(sum[0] - Math.sqrt(Math.PI)) < 1e-6, "a function");
    }

    static void threads(NinfClient client) throws Exception {
        long began = System.currentTimeMillis();
        Napper nappers[] = new Napper[4];
        for (int k = 0; k < 4; k++) {
            nappers[k] = new Napper(client);
            nappers[k].start();
        }
        for (int k = 0; k < 4; k++) {
            nappers[k].join();
            check(nappers[k].slept[0] == 300, "a thread");
        }
        check(System.currentTimeMillis() - began >= 300, "they have slept");
    }

    static void failures(NinfClient client) {
        try {
            NinfClient.parseArg(new String[] {"-port"});
            check(false, "an option without its value");
        } catch (IllegalArgumentException e) {
            check(e.getMessage().startsWith("-port"), "an option without its value");
        }
        try {
            client.callWith("library/broken");
            check(false, "a crash is told");
        } catch (NinfException e) {
            check(e.getMessage().indexOf("library/broken") >= 0, "a crash is told");
        }
        try {
            client.callWith("library/missing", new Integer(1));
            check(false, "no such function");
        } catch (NinfException e) {
            check(true, "no such function");
        }
        try {
            client.callWith("library/nap", new Integer(1));
            check(false, "too few arguments");
        } catch (NinfException e) {
            check(true, "too few arguments");
        }
        try {
            client.callWith("ninf:///nap");
            check(false, "no server");
        } catch (NinfException e) {
            check(true, "no server");
        }
    }

    public static void main(String args[]) throws Exception {
        args = NinfClient.parseArg(args);
        check(args.length == 1 && args[0].equals("rest"), "arguments");
        NinfClient client = new NinfClient();
        data(client);
        matrices(client);
        edges(client);
        files(client);
        functions(client);
        threads(client);
        failures(client);
        client.disconnect();
        int slept[] = new int[1];
        int port = Integer.parseInt(System.getProperty("port"));
        new NinfClient("localhost", port).callWith("nap", new Integer(1), slept);
        check(slept[0] == 1, "a named server");
        new NinfClient("nowhere.invalid", 1).callWith(
            "ninf://localhost:" + port + "/library/nap", new Integer(2), slept);
        check(slept[0] == 2, "a server in the entry");
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed);
    }
}
