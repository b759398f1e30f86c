// The calls of a GridRPC handle: one at a time, as the configuration says.
package org.farcall;

import static org.apgrid.grpc.ng.NgGrpcSessionAttr.KEY_SESSION_TIMEOUT;
import static org.farcall.Numbers.GRPC_FUNCTION_NOT_FOUND;

import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.gridforum.gridrpc.GrpcException;
import org.gridforum.gridrpc.GrpcExecInfo;

/** The one call at a time that a handle makes. */
final class GrpcSession {
    /** How often it is looked whether a time has passed. */
    private static final long LOOK_MILLISECONDS = 50;

    /** What a handle's calls are made by: its server's terms, and who notes what goes there. */
    record Way(Places places, Terms terms) {
        void note(Supplier<String> line) {
            if (terms.notes()) {
                places.note(terms.place(), line.get());
            }
        }
    }

    private volatile CallFuture current;
    private volatile boolean isCancelled;

    /** Its call returns null. */
    void cancel() {
        CallFuture call = current;
        if (call != null) {
            isCancelled = true;
            call.cancel(true);
        }
    }

    /** Whether a call is running. */
    boolean isBusy() {
        return current != null;
    }

    /** Makes a call and waits for its end; a second thread waits for the first one's.
     * Gives null for one that {@link #cancel} ended, as Ninf-G's client does. */
    synchronized GrpcExecInfo make(Way way, Supplier<Arguments> begin, Properties attributes,
        List<?> given, long[] times) throws GrpcException {
        List<Object> plain = Counterparts.plain(given);
        return GrpcFailures.translated(GrpcFailures::ofCall, GRPC_FUNCTION_NOT_FOUND, () -> {
            Arguments call = begin.get();
            Positional positional = new Positional(call, plain);
            apply(way.terms(), call, attributes);
            long began = System.nanoTime();
            Results results = outcome(way, call, began);
            if (results == null) {
                return null;
            }
            positional.store(results);
            Counterparts.giveBack(given == null ? List.of() : given, plain);
            double total = (System.nanoTime() - began) / 1e9;
            double started = results.startedSeconds();
            return new GrpcTimes(times, total, started, results.finishedSeconds() - started);
        });
    }

    /** What the session's attributes say of a call, and the configuration where they say nothing.
     */
    private static void apply(Terms terms, Arguments call, Properties attributes) {
        String said = FarcallGrpcClient.text(attributes, KEY_SESSION_TIMEOUT);
        double limit = said == null ? terms.sessionSeconds() : seconds(said);
        if (limit > 0) {
            call.timeout(Duration.ofMillis((long) (limit * 1000)));
        }
        if (call.on == null) {
            call.ranks = terms.start().ranks();
        }
        if (terms.prints()) {
            call.onOutput(GrpcSession::print);
        }
    }

    /** What a routine prints, here. */
    private static void print(Printed printed) {
        PrintStream stream = printed.error() ? System.err : System.out;
        stream.print(printed.text());
        stream.flush();
    }

    /** An attribute of a session that is a time; 0 for none. */
    private static double seconds(String text) {
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException error) {
            throw FarcallException.of(ErrorKind.INVALID_ARGUMENT, "call",
                "session_timeout is \"" + text + "\"", "give seconds");
        }
    }

    /** Waits in a way that an interrupt and {@link #cancel} end; null when the latter did. */
    private Results outcome(Way way, Arguments call, long began) {
        isCancelled = false;
        current = call.submit();
        long number = way.terms().notes() ? current.callNumber() : 0;
        String name = call.routine.name();
        way.note(() -> "call " + number + " of " + name + " begins");
        try {
            Results results = awaited(way, name, began);
            way.note(() -> "call " + number + " ends: well");
            return results;
        } catch (InterruptedException error) {
            current.cancel(true);
            Thread.currentThread().interrupt();
            throw noted(way, number, Connection.interrupted());
        } catch (CancellationException error) {
            FarcallException words = FarcallException.of(
                ErrorKind.CANCELLED, "call", "the call was cancelled", null);
            noted(way, number, words);
            if (isCancelled) {
                return null;
            }
            throw words;
        } catch (ExecutionException error) {
            throw noted(way, number, Connection.thrown(error.getCause()));
        } finally {
            current = null;
        }
    }

    private static RuntimeException noted(Way way, long number, RuntimeException error) {
        FarcallGrpcClient.holdBack();
        way.note(() -> "call " + number + " ends: " + error.getMessage());
        return error;
    }

    /** Waits for the end, and ends the call where what moves takes longer than it may. */
    private Results awaited(Way way, String name, long began)
        throws InterruptedException, ExecutionException
    {
        CallFuture call = current;
        TransferWatch watch = TransferWatch.of(way.terms().transferSeconds(), began);
        while (watch != null) {
            try {
                return call.get(LOOK_MILLISECONDS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException stillRunning) {
                TransferWatch.Moved moved = call.moved();
                String late = moved == null ? null : watch.late(moved, System.nanoTime());
                if (late != null) {
                    call.completeExceptionally(FarcallException.of(
                        ErrorKind.TIMED_OUT, "call", late, null, "routine", name));
                }
            }
        }
        return call.get();
    }
}
