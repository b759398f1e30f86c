// Faults: crashes, cancels, timeouts, servers that go away, connections that are closed under
// calls, many calls, memory.
package org.farcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class FaultsTest {
    /** A call that never ends by itself. */
    private static CallFuture endless(Server server) {
        return server.submit("loop", (Object) new double[] {1});
    }

    private static ErrorKind kindOf(CompletableFuture<?> future) throws Exception {
        ExecutionException error =
            assertThrows(ExecutionException.class, () -> future.get(30, TimeUnit.SECONDS));
        return assertInstanceOf(FarcallException.class, error.getCause()).kind();
    }

    private static ErrorKind kindOf(Runnable call) {
        return assertThrows(FarcallException.class, call::run).kind();
    }

    /** They cost their own call alone. */
    @Test
    void crashesAndExits() throws Exception {
        Server server = Servers.shared();
        FarcallException error =
            assertThrows(FarcallException.class, () -> server.call("crash", 7));
        assertEquals(ErrorKind.ROUTINE_CRASHED, error.kind());
        assertTrue(error.getMessage().contains("about to crash at 7"), error.getMessage());
        assertEquals(ErrorKind.ROUTINE_EXITED, kindOf(server.submit("leave", 3)));
        assertEquals(9, server.call("square", 3).real("y"));
    }

    /** And what else completes a future early. */
    @Test
    void cancel() throws Exception {
        try (Server server = Servers.own()) {
            CallFuture call = endless(server);
            assertThrows(TimeoutException.class, () -> call.get(50, TimeUnit.MILLISECONDS));
            assertTrue(call.cancel(true));
            assertFalse(call.complete(null));
            assertThrows(CancellationException.class, call::join);
            // The executable is free for other calls, or another one is started.
            assertEquals(4, server.submit("square", 2).get(30, TimeUnit.SECONDS).real("y"));
            assertThrows(ExecutionException.class,
                () -> endless(server).orTimeout(50, TimeUnit.MILLISECONDS).get());
        }
    }

    /** Of a routine that does not look for them. */
    @Test
    void timeouts() throws Exception {
        Server server = Servers.shared();
        Duration limit = Duration.ofMillis(200);
        assertEquals(ErrorKind.TIMED_OUT,
            kindOf(
                () -> server.routine("loop").with((Object) new double[1]).timeout(limit).call()));
        assertEquals(ErrorKind.TIMED_OUT,
            kindOf(server.routine("loop").with((Object) new double[1]).timeout(limit).submit()));
        assertEquals(ErrorKind.TIMED_OUT,
            kindOf(server.routine("loop")
                    .with((Object) new double[1])
                    .runTimeout(limit)
                    .submit()));
    }

    /** The flag stays set, as Java wants it. */
    @Test
    void interruptsEndACall() throws Exception {
        Server server = Servers.shared();
        for (Thread.Builder kind : List.of(Thread.ofPlatform(), Thread.ofVirtual())) {
            CompletableFuture<Object> outcome = new CompletableFuture<>();
            Thread waiting = kind.start(() -> {
                try {
                    outcome.complete(server.call("loop", (Object) new double[1]));
                } catch (FarcallException error) {
                    outcome.complete(
                        Thread.currentThread().isInterrupted() ? error.kind() : "the flag is gone");
                }
            });
            Thread.sleep(100);
            waiting.interrupt();
            assertEquals(ErrorKind.CANCELLED, outcome.get(30, TimeUnit.SECONDS));
            waiting.join();
        }
    }

    /** All of them end, in whatever way they wait. */
    @Test
    void closeWhileCallsAreOutstanding() throws Exception {
        Server server = Servers.own();
        CallFuture future = endless(server);
        CallFuture calling = server.submit("deep", 1, Callback.of(arguments -> {
            Thread.sleep(300);
            return 1;
        }));
        CompletableFuture<ErrorKind> waiting = CompletableFuture.supplyAsync(
            ()
                -> kindOf(() -> server.call("loop", (Object) new double[1])),
            Thread.ofPlatform()::start);
        Thread.sleep(200);
        server.close();
        server.close();
        assertEquals(ErrorKind.CANCELLED, kindOf(future));
        assertEquals(ErrorKind.CONNECTION_LOST, waiting.get(30, TimeUnit.SECONDS));
        assertThrows(ExecutionException.class, () -> calling.get(30, TimeUnit.SECONDS));
        assertEquals(ErrorKind.CONNECTION_LOST, kindOf(() -> server.call("square", 2)));
        assertEquals(ErrorKind.CONNECTION_LOST, kindOf(server::routines));
        assertTrue(server.toString().endsWith(", closed"));
    }

    /** Nobody waits for ever. */
    @Test
    void aServerThatIsKilledDuringCalls() throws Exception {
        List<ProcessHandle> before = Servers.children();
        try (Server server = Servers.own()) {
            ProcessHandle process = Servers.children()
                                        .stream()
                                        .filter(one -> !before.contains(one))
                                        .findFirst()
                                        .orElseThrow();
            CallFuture future = endless(server);
            CompletableFuture<ErrorKind> waiting = CompletableFuture.supplyAsync(
                ()
                    -> kindOf(() -> server.call("loop", (Object) new double[1])),
                Thread.ofPlatform()::start);
            CompletableFuture<ErrorKind> parked = CompletableFuture.supplyAsync(
                ()
                    -> kindOf(() -> server.call("loop", (Object) new double[1])),
                Thread.ofVirtual()::start);
            Thread.sleep(200);
            process.destroyForcibly();
            assertEquals(ErrorKind.CONNECTION_LOST, kindOf(future));
            assertEquals(ErrorKind.CONNECTION_LOST, waiting.get(30, TimeUnit.SECONDS));
            assertEquals(ErrorKind.CONNECTION_LOST, parked.get(30, TimeUnit.SECONDS));
            FarcallException error =
                assertThrows(FarcallException.class, () -> server.call("square", 2));
            assertTrue(
                error.kind() == ErrorKind.CONNECTION_LOST || error.kind() == ErrorKind.UNREACHABLE,
                error.getMessage());
        }
    }

    /** More than there are carriers. */
    @Test
    void aHundredCallsFromVirtualThreads() throws Exception {
        try (Server server = Servers.own();
            var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Double>> calls = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                double x = i;
                // All of them wait at once: no carrier is held, of which there are as many as
                // processors.
                calls.add(threads.submit(()
                                             -> server.call("pause", 0.02).real("slept") +
                                                    server.call("square", x).real("y")));
            }
            for (int i = 0; i < 100; i++) {
                assertEquals(0.02 + i * i, calls.get(i).get(60, TimeUnit.SECONDS), 1e-12);
            }
        }
    }

    /** Stages run where they may block. */
    @Test
    void futuresCompose() {
        Server server = Servers.shared();
        CompletableFuture<Double> sum = server.submit("square", 3)
            .thenCompose(r -> server.submit("square", r.real("y")))
            .thenCombine(server.submit("square", 2), (a, b) -> a.real("y") + b.real("y"));
        assertEquals(85, sum.join());
        // What hangs on a future may wait for another call.
        assertEquals(16, server.submit("square", 2)
                             .thenApply(r -> server.call("square", r.real("y")).real("y"))
                             .join());
        CompletionException error =
            assertThrows(CompletionException.class, () -> server.submit("square", "x").join());
        assertEquals(ErrorKind.INVALID_ARGUMENT,
            assertInstanceOf(FarcallException.class, error.getCause()).kind());
    }

    /** Of both sizes, by both ways. */
    @Test
    void memoryStaysTheSameOverManyCalls() throws Exception {
        Server server = Servers.shared();
        Routine routine = server.routine("slow_double");
        double[] large = new double[100_000];
        double[] small = new double[4];
        for (int i = 0; i < 500; i++) {
            routine.call(0.0, i % 10 == 0 ? large : small);
        }
        System.gc();
        long before = Servers.residentKilobytes();
        for (int i = 0; i < 10_000; i++) {
            Results r = i % 2 == 0 ? routine.call(0.0, i % 20 == 0 ? large : small)
                                   : routine.submit(0.0, small).join();
            assertEquals(0, r.doubles("x")[0]);
        }
        System.gc();
        long grown = Servers.residentKilobytes() - before;
        // The heap may grow to its limit; 10,000 leaks of the large array would be 8 GB, and of 500
        // of them 400 MB.
        assertTrue(grown < 300 << 10, "resident memory grew by " + grown + " KB");
        for (int i = 0; i < 200; i++) {
            assertThrows(FarcallException.class,
                () -> routine.with(0.0, large).into("x", new double[1]).call());
        }
    }

    /** By the Cleaner: the private server ends. */
    @Test
    void whatNobodyRefersToIsClosed() throws Exception {
        int before = Servers.children().size();
        open();
        for (int i = 0; i < 100 && Servers.children().size() > before; i++) {
            System.gc();
            Thread.sleep(100);
        }
        assertEquals(before, Servers.children().size());
    }

    private static void open() {
        Routine routine = Servers.own().routine("square");
        System.gc();
        // A routine keeps its connection.
        assertEquals(4, routine.call(2).real("y"));
    }

    /** Another connection collects them. */
    @Test
    void callsThatGoOnWithoutTheProgram() throws Exception {
        try (Server server = Servers.own()) {
            CallFuture kept =
                server.routine("pause").with(0.2).keep(Duration.ofMinutes(1)).submit();
            String id = kept.id();
            assertEquals(32, id.length());
            try (Server other = Server.connect(server.address())) {
                assertEquals(0.2, other.fetch(id).get(30, TimeUnit.SECONDS).real("slept"));
                other.forget(id);
                assertEquals(ErrorKind.NOT_FOUND, kindOf(() -> other.fetch(id)));
            }
        }
    }
}
