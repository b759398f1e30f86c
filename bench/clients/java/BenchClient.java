// The Java client under measurement: some of the commands of the other clients (see rust/main.rs).
//
// roundtrip BYTES MODE   MODE: inplace (a double[] both ways), native (a MemorySegment both ways),
// fresh (a new double[] as the
//                        result, which the collector takes)
// pingpong COUNT         seconds per call
//
// Usage: BenchClient ADDRESS CALLS ARRAYS     before the first answer to each of them it makes so
// many calls, or sends so many arrays: until the JIT compiler has had its turn.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Locale;
import org.farcall.Routine;
import org.farcall.Server;

/** Answers commands on its standard input, one line each. */
public final class BenchClient {
    private static final int WARM_ARRAY_BYTES = 1 << 20;

    private final Routine touch;
    private final Routine add;
    private final int warmCalls;
    private final int warmArrays;
    private boolean isWarm;
    private boolean knowsArrays;
    private double[] array = {};
    private Arena arena = Arena.ofConfined();
    private MemorySegment segment = MemorySegment.NULL;

    private BenchClient(Server server, int warmCalls, int warmArrays) {
        this.warmCalls = warmCalls;
        this.warmArrays = warmArrays;
        touch = server.routine("bench/touch");
        add = server.routine("bench/add");
    }

    public static void main(String[] arguments) throws Exception {
        try (Server server = Server.connect(arguments[0])) {
            BenchClient client = new BenchClient(
                server, Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                double seconds = words[0].equals("pingpong")
                                     ? client.pingpong(Integer.parseInt(words[1]))
                                     : client.roundtrip(Integer.parseInt(words[1]), words[2]);
                System.out.printf(Locale.ROOT, "%.9f%n", seconds);
                System.out.flush();
            }
        }
    }

    private double pingpong(int count) {
        if (!isWarm) {
            isWarm = true;
            pingpong(warmCalls);
        }
        double sum = 0;
        long begin = System.nanoTime();
        for (int i = 0; i < count; i++) {
            sum += add.call((double) i, 1.0).real("z");
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        if (sum != count * (count + 1.0) / 2) {
            throw new IllegalStateException("a wrong sum");
        }
        return seconds / count;
    }

    private double roundtrip(int bytes, String mode) {
        if (!knowsArrays) {
            knowsArrays = true;
            for (int i = 0; i < warmArrays; i++) {
                roundtrip(WARM_ARRAY_BYTES, mode);
            }
        }
        int n = bytes / 8;
        return switch (mode) {
            case "native" -> there(segment(n), n);
            case "inplace" -> there(array(n), n);
            default -> fresh(array(n), n);
        };
    }

    private double[] array(int n) {
        if (array.length != n) {
            array = new double[n];
            for (int i = 0; i < n; i++) {
                array[i] = i;
            }
        }
        return array;
    }

    private MemorySegment segment(int n) {
        if (segment.byteSize() != 8L * n) {
            arena.close();
            arena = Arena.ofConfined();
            segment = arena.allocate(ValueLayout.JAVA_DOUBLE, n);
            for (int i = 0; i < n; i++) {
                segment.setAtIndex(ValueLayout.JAVA_DOUBLE, i, i);
            }
        }
        return segment;
    }

    private double there(Object argument, int n) {
        long begin = System.nanoTime();
        touch.with(argument).inPlace().call();
        double seconds = (System.nanoTime() - begin) / 1e9;
        check(argument instanceof double[] own ? own[n / 2]
                                               : segment.getAtIndex(ValueLayout.JAVA_DOUBLE, n / 2),
            n);
        return seconds;
    }

    private double fresh(double[] argument, int n) {
        long begin = System.nanoTime();
        double[] result = touch.call((Object) argument).doubles("a");
        double seconds = (System.nanoTime() - begin) / 1e9;
        check(result[n / 2], n);
        return seconds;
    }

    private static void check(double middle, int n) {
        if (middle != n / 2) {
            throw new IllegalStateException("the array came back changed");
        }
    }
}
