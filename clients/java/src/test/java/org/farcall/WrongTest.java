// Bad input: every mistake is a FarcallException that says what, where and the fix, and nothing is
// sent.
package org.farcall;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class WrongTest {
    private final Server server = Servers.shared();

    /** Runs what is to fail, and looks at how. */
    private static FarcallException wrong(ErrorKind kind, String words, Supplier<?> call) {
        FarcallException error = assertThrows(FarcallException.class, call::get);
        assertEquals(kind, error.kind(), error.getMessage());
        assertTrue(error.getMessage().contains(words), error.getMessage());
        return error;
    }

    private void refused(String words, String routine, Object... arguments) {
        wrong(ErrorKind.INVALID_ARGUMENT, words, () -> server.call(routine, arguments));
    }

    /** Of routines, parameters and results. */
    @Test
    void names() {
        FarcallException error =
            wrong(ErrorKind.NOT_FOUND, "did you mean dsyev", () -> server.routine("dsyevx"));
        assertNotNull(error.advice());
        assertEquals("find a routine", error.operation());
        assertFalse(error.isRetryable());
        assertEquals("not-found", error.kind().label());
        wrong(ErrorKind.NOT_FOUND, "no routine", () -> server.routine(""));
        wrong(ErrorKind.INVALID_ARGUMENT,
            "takes no argument \"z\" (routine: behaviour/square); it takes x, y",
            () -> server.routine("square").with().set("z", 1));
        wrong(ErrorKind.NOT_FOUND,
            "no result is called \"z\" (routine: behaviour/square); there are y",
            () -> server.call("square", 2).get("z"));
        wrong(ErrorKind.INVALID_ARGUMENT, "passed twice",
            () -> server.routine("square").with(1.0).set("x", 2));
        wrong(ErrorKind.INVALID_ARGUMENT, "x is not a result",
            () -> server.routine("square").with(1.0).into("x", new double[1]));
    }

    /** Of numbers, arrays, texts, files, functions and structs. */
    @Test
    void types() {
        refused("takes 1 arguments by position (x), not 2", "square", 1.0, 2.0);
        refused("a real number (double), not text (String)", "square", "text");
        refused("a real number (double), not double[3]", "square", (Object) new double[3]);
        refused("a whole number (int), not 1.5 (Double)", "crash", 1.5);
        refused("3000000000 does not fit int", "crash", 3_000_000_000L);
        refused("9007199254740993 is not exact as double", "square", (1L << 53) + 1);
        refused("double[], and the interface wants float", "rows_float32",
            NdArray.of(new double[4], 2, 2), NdArray.of(new float[4], 2, 2));
        refused("long[], and the interface wants int elements", "rows_int32",
            NdArray.of(new long[4], 2, 2), NdArray.of(new int[4], 2, 2));
        refused("an array of String", "perhaps", 'Y', new String[] {"x"});
        refused("one character (char), not YY (String)", "perhaps", "YY", new double[1]);
        refused("wants a String (string), not 7 (Integer)", "greet", 7);
        refused("String[] (string), not 7 (Integer)", "lengths", 7);
        refused("wants a Path (filename), not 7 (Integer)", "size_of_file", 7);
        refused("wants a Callback (function), not 7 (Integer)", "trapezoid", 0.0, 1.0, 4, 7);
        refused("3 items has no whole number of elements of 2", "rows_complex128", new double[3],
            new double[4]);
        refused("bytes, and one point has 24", "points", new byte[24], new byte[23]);
        refused("1.0E300 does not fit float", "scalars", 'x', 1, 1, 1, 1, 1e300, 1.0,
            new Complex(0, 0), new Complex(0, 0));
    }

    /** Ragged rows, extents that do not agree, places of another size. */
    @Test
    void shapes() {
        refused("a row has 1 items, and the first one 2", "dgesv", new double[][] {{1, 2}, {3}},
            new double[2]);
        wrong(ErrorKind.INVALID_ARGUMENT, "b has shape (3,)",
            () -> server.call("dgesv", new double[2][2], new double[3]));
        wrong(ErrorKind.INVALID_ARGUMENT, "",
            () -> server.call("dgesv", new double[2][3], new double[2]));
        wrong(ErrorKind.INVALID_ARGUMENT, "", () -> server.call("dgesv"));
        wrong(ErrorKind.INVALID_ARGUMENT, "5 items for a shape of [2, 2]",
            () -> NdArray.of(new double[5], 2, 2));
        wrong(ErrorKind.INVALID_ARGUMENT, "extent of -1", () -> NdArray.of(new double[0], -1));
        double[] x = {1, 2};
        wrong(ErrorKind.INVALID_ARGUMENT, "y has shape (3,)",
            () -> server.routine("perhaps").with('Y', x).into("y", new double[3]).call());
        wrong(ErrorKind.INVALID_ARGUMENT, "the array for the result is int[]",
            () -> server.routine("perhaps").with('Y', x).into("y", new int[2]).call());
        wrong(ErrorKind.INVALID_ARGUMENT, "the array for the result is int[]",
            () -> server.routine("slow_double").with(0, new int[2]).inPlace().call());
    }

    /** They are refused before C sees them. */
    @Test
    void segmentsThatCannotBeUsed() {
        MemorySegment gone;
        try (Arena arena = Arena.ofConfined()) {
            gone = arena.allocate(16);
            MemorySegment readOnly = gone.asReadOnly();
            wrong(ErrorKind.INVALID_ARGUMENT, "read-only",
                () -> server.routine("slow_double").with(0, readOnly).inPlace().call());
            MemorySegment odd = gone.asSlice(0, 15);
            wrong(ErrorKind.INVALID_ARGUMENT, "15 bytes", () -> server.call("slow_double", 0, odd));
        }
        wrong(ErrorKind.INVALID_ARGUMENT, "arena of the segment is closed",
            () -> server.call("slow_double", 0, gone));
    }

    /** Of calls and connections. */
    @Test
    void options() {
        Arguments call = server.routine("square").with(1.0);
        wrong(ErrorKind.INVALID_ARGUMENT, "Duration above zero", () -> call.timeout(Duration.ZERO));
        wrong(ErrorKind.INVALID_ARGUMENT, "a run timeout of PT-1S",
            () -> call.runTimeout(Duration.ofSeconds(-1)));
        wrong(ErrorKind.INVALID_ARGUMENT, "an address names another",
            () -> Servers.options().address("unix:/x").connect());
        wrong(ErrorKind.UNREACHABLE, "/nonexistent/socket",
            () -> Server.connect("unix:/nonexistent/socket"));
        wrong(ErrorKind.INVALID_ARGUMENT, "smoke", () -> Server.connect("smoke://signals"));
        wrong(ErrorKind.UNAVAILABLE, "", () -> Server.running());
        wrong(ErrorKind.INVALID_ARGUMENT, "not a number of handles",
            () -> server.routine("square").hold(0));
    }

    /** In the words of every client; what is right is given. */
    @Test
    void whatNobodyCanBeGiven() {
        Routine square = server.routine("square").given("cores=1, memory=2 GB");
        assertEquals(4.0, square.call(2).real("y"));
        assertEquals(4.0, square.with(2).given("wall_time=30 s").call().real("y"));
        try (Handles handles = square.hold(1)) {
            assertEquals(9.0, handles.call(0, 3).real("y"));
            wrong(ErrorKind.INVALID_ARGUMENT, "a call on an object cannot ask for resources",
                () -> handles.with(0, 3).given("cores=1").call());
        }
        wrong(ErrorKind.INVALID_ARGUMENT, "cores is \"0\", which is not a number of cores",
            () -> square.with(2).given("cores=0").call());
        wrong(ErrorKind.INVALID_ARGUMENT, "memory is \"2 GX\", which is not an amount of memory",
            () -> square.given("memory=2 GX").call(2));
        wrong(ErrorKind.LIMIT_EXCEEDED, "this server has none",
            () -> square.with(2).given("gpus=1").call());
    }

    /** Accessors say what there is. */
    @Test
    void resultsOfAnotherType() {
        Results r = server.call("greet", "x");
        wrong(ErrorKind.INVALID_ARGUMENT, "hello, x (String), and no number",
            () -> r.real("greeting"));
        wrong(ErrorKind.INVALID_ARGUMENT, "no array of numbers", () -> r.doubles("greeting"));
        Results numbers = server.call("perhaps", 'Y', new double[] {1});
        wrong(ErrorKind.INVALID_ARGUMENT, "elements lie in double[]", () -> numbers.ints("y"));
        wrong(ErrorKind.NOT_FOUND, "there is no result 1", () -> numbers.get(1));
        assertArrayEquals(new double[] {2}, (double[]) numbers.get(0));
    }

    @Test
    void jsonIsCheckedToItsEnd() {
        for (String text : new String[] {"", "{", "[1", "{\"a\"}", "{\"a\":1,}", "tru", "1x", "\"",
                 "\"\\u12", "[] []", "[".repeat(100)}) {
            wrong(ErrorKind.PROTOCOL, "read an interface", () -> Json.read(text));
        }
        assertEquals(java.util.Arrays.asList(1.5, "ä\n", null, true),
            Json.read(" [1.5, \"\\u00e4\\n\", null, true] "));
    }
}
