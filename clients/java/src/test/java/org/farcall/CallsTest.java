// Calls of every type: numbers, texts, files, arrays of all kinds and layouts, structs.
package org.farcall;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class CallsTest {
    private final Server server = Servers.shared();

    /** Each at an end of its range. */
    @Test
    void everyNumberThereAndBack() {
        BigInteger large = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
        Results r = server.call("scalars", 'x', -2, 1 << 30, 1L << 62, large, 0.5f, Math.PI,
            new Complex(1, -2), new Complex(3, 4.5));
        assertEquals('x', r.get("c2"));
        assertEquals(-2, r.integer("s2"));
        assertEquals(1 << 30, r.integer("i2"));
        assertEquals(1L << 62, r.wide("l2"));
        assertEquals(large, r.get("u2"));
        assertEquals(0.5f, r.get("f2"));
        assertEquals(Math.PI, r.real("d2"));
        assertEquals(new Complex(1, -2), r.complex("z2"));
        assertEquals(new Complex(3, 4.5), r.get("w2"));
        assertEquals(List.of("c2", "s2", "i2", "l2", "u2", "f2", "d2", "z2", "w2"), r.names());
        assertTrue(
            r.finishedSeconds() >= r.startedSeconds() && r.startedSeconds() >= r.queuedSeconds());
    }

    /** By position, by name, by rows, by columns, in place. */
    @Test
    void linearEquationsBySeveralSpellings() {
        double[][] a = {{4, 1}, {1, 3}};
        double[] b = {1, 2};
        double[] x = {1.0 / 11, 7.0 / 11};
        assertArrayEquals(x, server.call("dgesv", a, b).doubles("b"), 1e-15);
        assertArrayEquals(new double[][] {{4, 1}, {1, 3}}, a, "arguments are not changed");
        NdArray flat = NdArray.of(new double[] {4, 1, 1, 3}, 2, 2);
        assertArrayEquals(x,
            server.routine("lapack/dgesv")
                .with()
                .set("a", flat)
                .set("b", b)
                .set("n", 2)
                .call()
                .doubles("b"),
            1e-15);
        assertArrayEquals(x, server.call("DGESV", flat.byColumns(), b).doubles("B"), 1e-15);
        Results over = server.routine("dgesv").with(a, b).inPlace().call();
        assertSame(b, over.get("b"));
        assertArrayEquals(x, b, 1e-15);
        assertEquals(0, over.integer("info"));
        assertArrayEquals(new int[] {1, 2}, over.ints("ipiv"));
        assertEquals(2.75, a[1][1]);
    }

    /** The routines only move elements: a wrong order or stride is a wrong place. */
    @ParameterizedTest
    @EnumSource(value = Element.class, names = "STRUCT", mode = EnumSource.Mode.EXCLUDE)
    void arraysOfEveryTypeByRowsAndColumns(Element type) {
        int m = 3;
        int n = 5;
        for (String order : new String[] {"rows", "columns"}) {
            String name = order + "_" + type.name().toLowerCase(java.util.Locale.ROOT);
            Object flat = counted(type, m * n);
            for (NdArray a :
                new NdArray[] {new NdArray(flat, false, m, n), byColumns(type, flat, m, n)}) {
                for (boolean segments : new boolean[] {false, true}) {
                    Arguments call = server.routine(name).with(a, new NdArray(flat, false, m, n));
                    try (Results r = (segments ? call.segments() : call).call()) {
                        NdArray b = r.array("b");
                        assertArrayEquals(new long[] {n, m}, b.shape());
                        Object turned = rowMajor(b, type);
                        Object c = rowMajor(r.array("c"), type);
                        for (int i = 0; i < m * n; i++) {
                            assertItem(type, flat, i, turned, i % n * m + i / n);
                            assertItem(type, flat, i, c, m * n - 1 - i);
                        }
                    }
                }
            }
        }
    }

    /** Items that count up; of complex elements both parts. */
    private static Object counted(Element type, int count) {
        Object array = Array.newInstance(type.component, count * type.parts());
        for (int i = 0; i < count * type.parts(); i++) {
            // The last has its highest bit set, where there is a sign or none.
            Array.setByte(array, i, (byte) (i + 1 == count ? -1 : i + 1));
        }
        return array;
    }

    /** The same logical array, column by column. */
    private static NdArray byColumns(Element type, Object flat, int m, int n) {
        Object turned = Array.newInstance(type.component, Array.getLength(flat));
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) {
                System.arraycopy(flat, (i * n + j) * type.parts(), turned,
                    (j * m + i) * type.parts(), type.parts());
            }
        }
        return new NdArray(turned, true, m, n);
    }

    /** The elements in rows, as a primitive array. */
    private static Object rowMajor(NdArray array, Element type) {
        return switch (type.component.getName()) {
            case "byte" -> array.bytes();
            case "short" -> array.shorts();
            case "int" -> array.ints();
            case "long" -> array.longs();
            case "float" -> array.floats();
            default -> array.doubles();
        };
    }

    /** Bit by bit: NaNs count, too. */
    private static void assertItem(Element type, Object expected, int at, Object found, int index) {
        for (int part = 0; part < type.parts(); part++) {
            assertEquals(Array.get(expected, at * type.parts() + part),
                Array.get(found, index * type.parts() + part), type + " " + at);
        }
    }

    /** Arrays of arrays of arrays. */
    @Test
    void threeDimensionsNested() {
        double[][][] a = new double[2][3][4];
        for (int i = 0; i < 24; i++) {
            a[i / 12][i / 4 % 3][i % 4] = i;
        }
        NdArray b = server.call("cube", (Object) a).array("b");
        assertArrayEquals(new long[] {4, 3, 2}, b.shape());
        assertEquals(a[1][2][3], b.getDouble(3, 2, 1));
        assertEquals(a[0][1][3], b.getDouble(3, 1, 0));
    }

    /** Sizes around those of the scratch memory and of a page. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 1000, 3000, 100_000})
    void vectorsOfAllSizesInEveryPlace(int n) {
        double[] x = new double[n];
        for (int i = 0; i < n; i++) {
            x[i] = i;
        }
        double[] y = new double[n];
        Results r =
            server.routine("sharing/shift").with((Object) x).set("m", n).into("y", y).call();
        assertSame(y, r.get("y"));
        double[] fresh =
            server.routine("sharing/shift").with((Object) x).set("m", n).call().doubles("y");
        assertNotSame(y, fresh);
        assertArrayEquals(fresh, y);
        assertTrue(n == 0 || y[n - 1] == n);
        double[] twice = x.clone();
        server.routine("slow_double").with(0.0, twice).inPlace().call();
        double[] apart = new double[n];
        server.routine("slow_double").with(0.0, x).into("x", apart).call();
        assertArrayEquals(twice, apart);
        assertTrue(n == 0 || apart[n - 1] == 2.0 * (n - 1) && x[n - 1] == n - 1);
    }

    /** Vectors and matrices. */
    @Test
    void nativeMemoryIsUsedWhereItLies() {
        try (Arena arena = Arena.ofConfined()) {
            int n = 50_000;
            MemorySegment x = arena.allocate(ValueLayout.JAVA_DOUBLE, n);
            x.setAtIndex(ValueLayout.JAVA_DOUBLE, n - 1, 21);
            Results r = server.routine("slow_double").with(0.0, x).inPlace().call();
            assertSame(x, r.get("x"));
            assertEquals(42, x.getAtIndex(ValueLayout.JAVA_DOUBLE, n - 1));
            MemorySegment a = arena.allocateFrom(ValueLayout.JAVA_DOUBLE, 4, 1, 1, 3);
            MemorySegment b = arena.allocateFrom(ValueLayout.JAVA_DOUBLE, 1, 2);
            server.routine("dgesv").with(NdArray.of(a, 2, 2).byColumns(), b).inPlace().call();
            assertEquals(7.0 / 11, b.getAtIndex(ValueLayout.JAVA_DOUBLE, 1), 1e-15);
        }
    }

    /** `Arena.ofAuto` frees what nothing refers to; a call under way does. */
    @Test
    void nativeMemoryIsKeptDuringACall() {
        CallFuture[] call = new CallFuture[1];
        WeakReference<MemorySegment> kept = lent(call);
        System.gc();
        assertNotNull(kept.get());
        assertEquals(42, call[0].join().doubles("x")[9]);
    }

    /** Whoever closes it meanwhile is told; the call goes on. */
    @Test
    void anArenaThatACallUsesIsNotClosed() {
        for (int round = 0; round < 100; round++) {
            Arena arena = Arena.ofShared();
            MemorySegment x = arena.allocate(ValueLayout.JAVA_DOUBLE, 100_000);
            x.setAtIndex(ValueLayout.JAVA_DOUBLE, 99_999, 21);
            double seconds = round == 0 ? 0.5 : 0;
            Arguments inPlace = server.routine("slow_double").with(seconds, x).inPlace();
            CallFuture call = inPlace.submit();
            CallFuture other = server.submit("slow_double", seconds, x.asSlice(0, 80));
            if (round == 0) {
                assertThrows(IllegalStateException.class, arena::close);
            }
            other.join();
            call.join();
            assertEquals(42, x.getAtIndex(ValueLayout.JAVA_DOUBLE, 99_999));
            // At once.
            arena.close();
        }
    }

    /** A call that fails or is cancelled lets go of it, too. */
    @Test
    void anArenaCanBeClosedWhenItsCallHasEndedSomehow() {
        Arena arena = Arena.ofShared();
        MemorySegment x = arena.allocate(ValueLayout.JAVA_DOUBLE, 10);
        assertThrows(FarcallException.class, () -> server.call("slow_double", "no number", x));
        CallFuture call = server.submit("slow_double", 30, x);
        assertTrue(call.cancel(true));
        arena.close();
        try (Arena own = Arena.ofConfined()) {
            MemorySegment y = own.allocate(ValueLayout.JAVA_DOUBLE, 10);
            Throwable error = server.submit("slow_double", 0, y).exceptionNow();
            assertTrue(error.getMessage().contains("belongs to this thread"), error.getMessage());
        }
    }

    /** Starts a call with memory that nobody else knows. */
    private WeakReference<MemorySegment> lent(CallFuture[] call) {
        MemorySegment x = Arena.ofAuto().allocate(ValueLayout.JAVA_DOUBLE, 10);
        x.setAtIndex(ValueLayout.JAVA_DOUBLE, 9, 21);
        call[0] = server.submit("slow_double", 0.5, x);
        return new WeakReference<>(x);
    }

    /** Afterwards they throw, and crash nothing. */
    @Test
    void resultsInNativeMemoryEndWhenTheyAreClosed() {
        Results r = server.routine("slow_double").with(0.0, new double[] {1, 2}).segments().call();
        MemorySegment x = r.segment("x");
        assertTrue(x.isNative());
        assertEquals(4, x.getAtIndex(ValueLayout.JAVA_DOUBLE, 1));
        r.close();
        r.close();
        assertThrows(IllegalStateException.class, () -> x.getAtIndex(ValueLayout.JAVA_DOUBLE, 1));
    }

    /** What is behind them stays as it was. */
    @Test
    void aRoutineMaySayHowManyResultsThereAre() {
        double[] x = {3, 1, -1, 5};
        assertArrayEquals(new double[] {3, 1}, server.call("prefix", (Object) x).doubles("y"));
        double[] y = {9, 9, 9, 9};
        Results r = server.routine("prefix").with((Object) x).into("y", y).call();
        assertArrayEquals(new double[] {3, 1}, r.doubles("y"));
        assertArrayEquals(new double[] {3, 1}, java.util.Arrays.copyOf(y, 2));
        assertNull(server.call("perhaps", 'N', x).get("y"));
        assertArrayEquals(new double[] {6, 2, -2, 10}, server.call("perhaps", 'Y', x).doubles("y"));
    }

    /** 2^53 + 1 is no double. */
    @Test
    void whatIsNarrowerIsWidenedAndNothingIsRounded() {
        assertArrayEquals(
            new double[] {6, 2}, server.call("perhaps", 'Y', new int[] {3, 1}).doubles("y"));
        assertArrayEquals(new double[] {1, 3},
            server.call("perhaps", 'Y', new float[] {0.5f, 1.5f}).doubles("y"));
        assertEquals(9.0, server.call("square", 3).real("y"));
        assertEquals(6.25, server.call("square", 2.5f).real("y"));
        FarcallException error = assertThrows(
            FarcallException.class, () -> server.call("perhaps", 'Y', new long[] {(1L << 53) + 1}));
        assertTrue(error.getMessage().contains("does not fit double exactly"), error.getMessage());
    }

    @Test
    void aSingleArrayOfArraysIsOneArgument() {
        Object[] rows = new double[][] {{2, 0}, {0, 3}};
        assertArrayEquals(new double[] {2, 3}, server.call("dsyevr", rows).doubles("w"), 1e-12);
        Object[] words = new String[] {"one", "three"};
        assertArrayEquals(new int[] {3, 5}, server.call("lengths", words).ints("bytes"));
    }

    /** NULL, empty ones, and such beyond ASCII. */
    @Test
    void texts() {
        assertEquals("hello, wörld", server.call("greet", "wörld").text("greeting"));
        assertEquals("hello, nobody", server.call("greet", (Object) null).text("greeting"));
        assertArrayEquals(new int[] {3, -1, 0},
            server.call("lengths", (Object) new String[] {"one", null, ""}).ints("bytes"));
        assertArrayEquals(
            new int[] {2, 5}, server.call("lengths", List.of("ab", "cdefg")).ints("bytes"));
        assertArrayEquals("SHOUT".getBytes(StandardCharsets.US_ASCII),
            server.call("shout", "shout").bytes("word"));
    }

    /** By path, by content, in place. */
    @Test
    void files(@TempDir Path folder) throws Exception {
        Path data = Files.writeString(folder.resolve("data"), "abc");
        assertEquals(3, server.call("size_of_file", data).integer("size"));
        assertEquals(
            4, server.call("size_of_file", (Object) "four".getBytes(StandardCharsets.US_ASCII))
                   .integer("size"));
        assertEquals("cba",
            new String(server.call("reverse", data).bytes("result"), StandardCharsets.US_ASCII));
        Path result = folder.resolve("result");
        Results r = server.routine("reverse").with(data).into("result", result).call();
        assertEquals(result, r.path("result"));
        assertEquals("cba", Files.readString(result));
        server.call("append", data, "def");
        assertEquals("abcdef", Files.readString(data));
        FarcallException error = assertThrows(
            FarcallException.class, () -> server.call("size_of_file", folder.resolve("none")));
        assertEquals(ErrorKind.NOT_FOUND, error.kind());
    }

    /** Where their fields lie, the interface says. */
    @Test
    void structsAreBytes() {
        Parameter.Struct point = server.routine("points").parameters().get(1).struct();
        assertEquals(24, point.bytes());
        assertEquals(8, point.fields().get(1).offset());
        ByteBuffer p = ByteBuffer.allocate(48)
                           .order(ByteOrder.nativeOrder())
                           .putDouble(0, 1.5)
                           .putDouble(24, 2.5);
        ByteBuffer shift = ByteBuffer.allocate(24)
                               .order(ByteOrder.nativeOrder())
                               .putDouble(0, 1)
                               .putInt(12, 7)
                               .put(16, (byte) 'm');
        Results r = server.call("points", p.array(), shift.array());
        ByteBuffer moved = ByteBuffer.wrap(r.bytes("p")).order(ByteOrder.nativeOrder());
        assertEquals(3.5, moved.getDouble(24));
        assertEquals(7, moved.getInt(24 + 12));
        assertEquals(2.5,
            ByteBuffer.wrap((byte[]) r.get("first")).order(ByteOrder.nativeOrder()).getDouble(0));
    }

    /** A number is passed, and another one comes back. */
    @Test
    void inoutScalars() {
        Results r = server.call("grow", 41, 0.5);
        assertEquals(42, r.integer("n"));
        assertEquals(2, server.call("grow", true, 0.5).integer("n"), "what is logical");
        assertEquals(1.5, r.real("x"));
    }

    /** What `farcall show` says, as objects. */
    @Test
    void theInterfaceIsData() {
        Routine dgesv = server.routine("dgesv");
        assertEquals("lapack/dgesv", dgesv.name());
        assertTrue(dgesv.signature().startsWith("dgesv(a, b, *, n=None"));
        assertEquals(List.of("a", "b"), dgesv.positional().stream().map(Parameter::name).toList());
        Parameter a = dgesv.parameters().get(2);
        assertEquals(Parameter.Mode.INOUT, a.mode());
        assertEquals(Element.FLOAT64, a.element());
        assertEquals(List.of("n", "n"), a.extents());
        assertTrue(a.isColumnOrder() && a.isInput() && a.isOutput());
        assertEquals("in: matrix A; out: its factors L and U", a.doc());
        assertTrue(dgesv.help().contains("Solves A*X = B") && dgesv.json().startsWith("{"));
        assertTrue(server.routines().contains("lapack/dgesv"));
        assertFalse(server.routines().contains("dgesv"));
        Parameter f = server.routine("apply").parameters().get(3);
        assertEquals(List.of("n", "x", "y"), f.parameters().stream().map(Parameter::name).toList());
    }

    /** Where no memory is shared. */
    @Test
    void theSameByTcp(@TempDir Path folder) {
        Path token = folder.resolve("token");
        try (Server tcp = Servers.options()
                 .publish(Servers.routines("behaviour"), Servers.routines("sharing"))
                 .tokenFile(token)
                 .arguments("--listen", "tcp:127.0.0.1:0", "--token-file", token.toString())
                 .connect()) {
            assertTrue(tcp.address().startsWith("farcall://127.0.0.1:"), tcp.address());
            double[] x = new double[200_000];
            java.util.Arrays.fill(x, 3);
            assertEquals(6, tcp.call("slow_double", 0.0, x).doubles("x")[199_999]);
            tcp.routine("slow_double").with(0.0, x).inPlace().call();
            assertEquals(6, x[199_999]);
            try (Server second =
                     Server.options().address(tcp.address()).tokenFile(token).connect()) {
                assertEquals(4, second.call("square", 2).real("y"));
            }
        }
    }
}
