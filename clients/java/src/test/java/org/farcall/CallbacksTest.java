// Functions of Java's that routines call, news of calls, objects, and handles.
package org.farcall;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class CallbacksTest {
    private final Server server = Servers.shared();

    /** The short forms. */
    @Test
    void functionsOfNumbersAndVectors() throws Exception {
        assertEquals(1.0 / 3,
            server.call("trapezoid", 0.0, 1.0, 1000, Callback.real(x -> x * x)).real("sum"), 1e-6);
        assertEquals(2,
            server.submit("trapezoid", 0.0, Math.PI, 1000, Callback.real(Math::sin))
                .get(30, TimeUnit.SECONDS)
                .real("sum"),
            1e-5);
        assertEquals(7, server.call("after", 3.0, Callback.real(x -> 2 * x)).real("y"));
        Callback square =
            Callback.vector(x -> java.util.Arrays.stream(x).map(one -> one * one).toArray());
        assertArrayEquals(new double[] {1, 4, 9},
            server.call("apply", new double[] {1, 2, 3}, square).doubles("y"));
        List<Object> seen = new ArrayList<>();
        double[] relaxed = server.call("relax", 3, new double[] {8, 4}, Callback.of(arguments -> {
            seen.add(arguments[0]);
            double[] x = (double[]) arguments[2];
            x[0] /= 2;
            return null;
        })).doubles("x");
        assertArrayEquals(new double[] {1, 4}, relaxed);
        assertEquals(List.of(1, 2, 3), seen);
    }

    /** In and out. */
    @Test
    void arraysOfTwoDimensions() {
        NdArray turned =
            server
                .call("turn", new double[][] {{1, 2, 3}, {4, 5, 6}}, Callback.of(arguments -> {
                    NdArray a = (NdArray) arguments[2];
                    double[][] rows = a.matrix();
                    double[][] b = new double[3][2];
                    for (int i = 0; i < 6; i++) {
                        b[i % 3][i / 3] = rows[i / 3][i % 3];
                    }
                    return b;
                }))
                .array("b");
        assertArrayEquals(new double[] {1, 4, 2, 5, 3, 6}, turned.doubles());
    }

    /** In the order of the interface. */
    @Test
    void everyKindOfParameter() {
        List<Object> seen = Collections.synchronizedList(new ArrayList<>());
        Results r = server.call("mixed", Callback.of(arguments -> {
            Collections.addAll(seen, arguments);
            return new Object[] {35, "answer ä", new double[] {1.5, 2.5}};
        }));
        assertEquals("answer ä", r.text("said"));
        assertEquals(39, r.real("total"));
        assertEquals('A', seen.get(0));
        assertEquals(-2, seen.get(1));
        assertEquals(0.5f, seen.get(2));
        assertEquals(new Complex(1.5, -2.5), seen.get(3));
        assertEquals(new Complex(0.25, 4), seen.get(4));
        assertEquals("name", seen.get(5));
        assertEquals(null, seen.get(6));
        assertEquals(7, seen.get(7));
        assertArrayEquals(new byte[] {'x', 'y', 'z'}, (byte[]) seen.get(8));
    }

    /** Arrays of texts, and fewer elements than there is room for. */
    @Test
    void textsAndSizesThatTheFunctionSays() {
        Results said = server.call("spell", Callback.of(arguments -> {
            String[] words = (String[]) arguments[1];
            return new Object[] {new String[] {"(", ")"},
                new String[] {words[0].toUpperCase(), words[1], "THREE"}, new String[] {"1"}};
        }));
        assertEquals("(ONE - THREE) 1", said.text("said"));
        Results some = server.call(
            "some", 10, Callback.of(arguments -> new Object[] {2, new double[] {20, 22}}));
        assertEquals(2, some.integer("found"));
        assertEquals(42, some.real("sum"));
    }

    /** And what it returns that does not fit. */
    @Test
    void whatAFunctionThrowsIsTheCause() {
        IllegalStateException thrown = new IllegalStateException("no more");
        Callback failing = Callback.of(arguments -> {
            throw thrown;
        });
        FarcallException error = assertThrows(
            FarcallException.class, () -> server.call("trapezoid", 0.0, 1.0, 4, failing));
        assertEquals(ErrorKind.ROUTINE_FAILED, error.kind());
        assertSame(thrown, error.getCause());
        assertTrue(
            error.getMessage().contains("IllegalStateException: no more (CallbacksTest.java, line"),
            error.getMessage());
        ExecutionException later = assertThrows(
            ExecutionException.class, () -> server.submit("trapezoid", 0.0, 1.0, 4, failing).get());
        assertSame(thrown, later.getCause().getCause());
        FarcallException nothing = assertThrows(
            FarcallException.class, () -> server.call("deep", 1, Callback.of(arguments -> null)));
        assertTrue(nothing.getMessage().contains("it returned nothing as m"), nothing.getMessage());
        FarcallException shape = assertThrows(FarcallException.class,
            () -> server.call("apply", new double[3], Callback.vector(x -> new double[2])));
        assertTrue(
            shape.getMessage().contains("double[2] (") || shape.getMessage().contains("double[2]"),
            shape.getMessage());
        // A routine may look, and go on.
        assertEquals(3, server.call("careful", 3, failing).integer("failed"));
    }

    /** Which call back, too. */
    @Test
    void functionsMakeCallsThemselves() throws Exception {
        Callback inner = Callback.of(arguments -> (Integer) arguments[0] + 1);
        Callback outer =
            Callback.of(arguments -> server.call("deep", arguments[0], inner).integer("m") * 2);
        assertEquals(12, server.call("deep", 5, outer).integer("m"));
        Thread virtual = Thread.ofVirtual().start(
            () -> assertEquals(12, server.call("deep", 5, outer).integer("m")));
        virtual.join();
    }

    /** What comes in pieces is whole text. */
    @Test
    void outputAndProgress() throws Exception {
        StringBuilder out = new StringBuilder();
        StringBuilder err = new StringBuilder();
        server.routine("chat")
            .with(3, 1)
            .onOutput(said -> (said.error() ? err : out).append(said.text()))
            .call();
        assertEquals("step 1\nstep 2\nstep 3\nfür dich", out.toString());
        assertEquals("converged\n", err.toString());
        List<Progress> heard = Collections.synchronizedList(new ArrayList<>());
        server.routine("anneal").with(5).onProgress(heard::add).submit().get(30, TimeUnit.SECONDS);
        assertTrue(heard.stream().anyMatch(
                       one -> one.started() && one.done() > 0 && one.text().startsWith("step ")),
            heard.toString());
        FarcallException error = assertThrows(FarcallException.class,
            ()
                -> server.routine("chat")
                    .with(3, 1)
                    .onOutput(said -> server.routine("nothing"))
                    .call());
        assertEquals(ErrorKind.NOT_FOUND, error.kind());
    }

    /** Until they are closed. */
    @Test
    void objectsKeepTheirState() throws Exception {
        try (RemoteObject rod = server.object("Rod", 5)) {
            assertEquals("rod/Rod", rod.name());
            assertEquals(32, rod.id().length());
            assertArrayEquals(
                new double[] {0, 0, 100, 0, 0}, rod.with("get").set("n", 5).call().doubles("t"));
            rod.call("step", 1);
            rod.submit("step", 1).get(30, TimeUnit.SECONDS);
            assertArrayEquals(new double[] {0, 12.5, 37.5, 12.5, 0}, middle(rod), 20);
        }
        FarcallException none =
            assertThrows(FarcallException.class, () -> server.object("Nothing"));
        assertEquals(ErrorKind.NOT_FOUND, none.kind());
        RemoteObject closed = server.object("Rod", 3);
        closed.close();
        closed.close();
        assertEquals(ErrorKind.NOT_FOUND,
            assertThrows(FarcallException.class, () -> closed.call("step", 1)).kind());
        assertThrows(FarcallException.class, () -> server.object("Rod", "hot"));
    }

    /** Each has a state of its own, and they end with the last of them. */
    @Test
    void objectsThatAreMadeTogether() {
        RemoteObject last;
        try (RemoteObjects rods = server.objects("Rod", 3, 5)) {
            assertEquals(3, rods.size());
            assertEquals(3, java.util.stream.StreamSupport.stream(rods.spliterator(), false)
                                .map(RemoteObject::id)
                                .distinct()
                                .count());
            rods.get(1).call("step", 1);
            assertArrayEquals(new double[] {0, 0, 100, 0, 0}, middle(rods.get(0)));
            assertArrayEquals(new double[] {0, 25, 50, 25, 0}, middle(rods.get(1)));
            rods.get(0).close();
            rods.get(0).close();
            assertEquals(ErrorKind.NOT_FOUND,
                assertThrows(FarcallException.class, () -> rods.get(0).call("step", 1)).kind());
            last = rods.get(2);
            assertArrayEquals(new double[] {0, 0, 100, 0, 0}, middle(last));
        }
        assertEquals(ErrorKind.NOT_FOUND,
            assertThrows(FarcallException.class, () -> last.call("step", 1)).kind());
        FarcallException none =
            assertThrows(FarcallException.class, () -> server.objects("Rod", 0, 5));
        assertEquals(ErrorKind.INVALID_ARGUMENT, none.kind());
        assertThrows(FarcallException.class, () -> server.objects("Rod", 2, "hot"));
        assertThrows(FarcallException.class, () -> server.objects("Nothing", 2));
    }

    private static double[] middle(RemoteObject rod) {
        return rod.with("get").set("n", 5).call().doubles("t");
    }

    /** Both work at once. */
    @Test
    void handlesAreProcessesOfTheirOwn() {
        try (Handles handles = server.routine("square").hold(2)) {
            assertEquals(2, handles.size());
            CallFuture first = handles.submit(0, 3);
            assertEquals(16, handles.call(1, 4).real("y"));
            assertEquals(9, first.join().real("y"));
            assertThrows(IndexOutOfBoundsException.class, () -> handles.call(2, 1));
        }
        assertInstanceOf(Handles.class, server.routine("square").hold(1)).close();
    }
}
