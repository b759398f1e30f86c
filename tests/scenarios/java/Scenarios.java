// The scenarios with the Java client: `Scenarios LIST [NAME…]`, at the server that $FARCALL_SERVER
// names.

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.farcall.Arguments;
import org.farcall.Callback;
import org.farcall.FarcallException;
import org.farcall.Handles;
import org.farcall.RemoteObject;
import org.farcall.Results;
import org.farcall.Server;

/** Runs a list of scenarios and prints what comes of it. */
public final class Scenarios {
    private static final long WAIT_MAX = 60;
    private static final PrintStream OUT =
        new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    /** One action, with the arguments that stand before it. */
    private record Step(String[] words, List<Values> arguments, double timeout) {}

    /** A call under way, and what it was called with. */
    private record Started(Step step, CompletableFuture<Results> future) {}

    private final Server server;
    private final Path folder;
    private final Map<String, Object> kept = new HashMap<>();
    private String name;

    private Scenarios(Server server, Path folder) {
        this.server = server;
        this.folder = folder;
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createTempDirectory("scenarios");
        try (Server server = Server.connect()) {
            List<String> names = Arrays.asList(arguments).subList(1, arguments.length);
            new Scenarios(server, folder).run(Files.readAllLines(Path.of(arguments[0])), names);
        } finally {
            for (Path file : Files.list(folder).toList()) {
                Files.delete(file);
            }
            Files.delete(folder);
        }
    }

    /** Gathers arguments until an action uses them up. */
    private void run(List<String> lines, List<String> names) throws Exception {
        List<Values> gathered = new ArrayList<>();
        double timeout = 0;
        boolean runs = false;
        for (String line : lines) {
            String[] words = line.strip().split(" +");
            String rest = line.substring(Math.min(line.length(), words[0].length() + 1));
            switch (words[0]) {
                case "scenario" -> {
                    name = rest;
                    runs = names.isEmpty() || names.contains(name);
                }
                case "not" -> runs &= !words[1].equals("java");
                case "in", "inout", "out" -> gathered.add(new Values(words[0], rest));
                case "callback" -> gathered.add(new Values("callback", rest));
                case "timeout" -> timeout = Double.parseDouble(rest);
                case "", "#", "=" -> { }
                default -> {
                    if (runs) {
                        act(new Step(words, List.copyOf(gathered), timeout));
                    }
                    gathered.clear();
                    timeout = 0;
                }
            }
        }
    }

    /** One line of output. */
    private void say(String words) {
        OUT.println(name + ": " + words);
    }

    /** One action of the list. */
    private void act(Step step) throws Exception {
        String first = step.words.length > 1 ? step.words[1] : "";
        String second = step.words.length > 2 ? step.words[2] : "";
        switch (step.words[0]) {
            case "call" -> show(step, () -> arguments(step, server.routine(first)::with).call());
            case "repeat" -> repeat(step, Integer.parseInt(first), second);
            case "together" -> together(step, Integer.parseInt(first), second);
            case "start" -> kept.put(first, new Started(step, started(step, second)));
            case "probe" ->
                say(first + (((Started) kept.get(first)).future.isDone() ? " done" : " open"));
            case "cancel" -> ((Started) kept.get(first)).future.cancel(true);
            case "wait" -> {
                Started call = (Started) kept.remove(first);
                show(call.step, () -> call.future.get(WAIT_MAX, TimeUnit.SECONDS));
            }
            case "object" ->
                quietly(()
                            -> kept.put(first,
                                server.object("scenarios/" + second, positional(step.arguments))));
            case "method" ->
                show(step,
                    ()
                        -> arguments(
                            step, given -> ((RemoteObject) kept.get(first)).with(second, given))
                            .call());
            case "handles" ->
                quietly(()
                            -> kept.put(first,
                                server.routine(step.words[3]).hold(Integer.parseInt(second))));
            case "handle" -> {
                int index = Integer.parseInt(second);
                show(step,
                    ()
                        -> arguments(step, given -> ((Handles) kept.get(first)).with(index, given))
                            .call());
            }
            case "end" -> quietly(() -> {
                ((AutoCloseable) kept.remove(first)).close();
                return null;
            });
            case "connect" -> quietly(() -> {
                Server.connect(first).close();
                return null;
            });
            default -> throw new IllegalArgumentException("no action " + step.words[0]);
        }
    }

    // ---- Arguments and results
    // -------------------------------------------------------------------------------------------

    private interface Begin {
        Arguments with(Object... positional);
    }

    /** An argument as this client passes it. */
    private Object given(Values one) {
        if (one.mode.equals("callback")) {
            return switch (one.type) {
                case "square" -> Callback.real(x -> x * x);
                case "rotate" -> Callback.of(Scenarios::rotate);
                default -> null;
            };
        }
        return one.type.equals("filename") ? file(one) : one.given();
    }

    /** The callback of that name. */
    private static Object rotate(Object[] arguments) {
        double[] x = (double[]) arguments[1];
        double last = x[x.length - 1];
        System.arraycopy(x, 0, x, 1, x.length - 1);
        x[0] = last;
        return null;
    }

    /** Makes a file with an argument's content. */
    private Path file(Values one) {
        Path path = folder.resolve(one.name);
        try {
            Files.deleteIfExists(path);
            return one.value == null ? path : Files.write(path, (byte[]) one.value);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Values in order. */
    private Object[] positional(List<Values> arguments) {
        return arguments.stream().filter(one -> !one.mode.equals("out")).map(this::given).toArray();
    }

    /** A call that is ready to be made. */
    private Arguments arguments(Step step, Begin begin) {
        Arguments call = begin.with(
            positional(step.arguments.stream().filter(one -> one.name.equals("-")).toList()));
        for (Values one : step.arguments) {
            if (!one.mode.equals("out") && !one.name.equals("-")) {
                call.set(one.name, given(one));
            }
            if (one.isResult() && !one.layout.isEmpty()) {
                call.into(one.name, one.laidOut());
            }
        }
        return call.timeout(
            Duration.ofMillis(step.timeout > 0 ? (long) (step.timeout * 1000) : WAIT_MAX * 1000));
    }

    /** The lines of an outcome. */
    private List<String> shown(Step step, Callable<Results> outcome) throws Exception {
        try {
            Results results = outcome.call();
            List<String> lines = new ArrayList<>();
            for (Values one : step.arguments) {
                if (one.isResult()) {
                    Object value = results.get(one.name);
                    lines.add(
                        one.shown(value instanceof Path path ? Files.readAllBytes(path) : value));
                }
            }
            return lines;
        } catch (FarcallException error) {
            return List.of("error " + error.kind().label());
        } catch (CancellationException error) {
            return List.of("error cancelled");
        } catch (ExecutionException error) {
            if (error.getCause() instanceof FarcallException known) {
                return List.of("error " + known.kind().label());
            }
            throw error;
        }
    }

    /** Prints an outcome. */
    private void show(Step step, Callable<Results> outcome) throws Exception {
        shown(step, outcome).forEach(this::say);
    }

    /** What gives no results prints its error alone. */
    private void quietly(Callable<?> action) throws Exception {
        try {
            action.call();
        } catch (FarcallException error) {
            say("error " + error.kind().label());
        }
    }

    /** A call under way; one that could not begin has failed. */
    private CompletableFuture<Results> started(Step step, String routine) {
        try {
            return arguments(step, server.routine(routine)::with).submit();
        } catch (FarcallException error) {
            return CompletableFuture.failedFuture(error);
        }
    }

    /** One after the other. */
    private void repeat(Step step, int count, String routine) throws Exception {
        List<List<String>> outcomes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            outcomes.add(shown(step, () -> arguments(step, server.routine(routine)::with).call()));
        }
        alike(outcomes);
    }

    /** All begun before one is waited for, the last first. */
    private void together(Step step, int count, String routine) throws Exception {
        List<CompletableFuture<Results>> calls = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            calls.add(started(step, routine));
        }
        Collections.reverse(calls);
        List<List<String>> outcomes = new ArrayList<>();
        for (CompletableFuture<Results> call : calls) {
            outcomes.add(shown(step, () -> call.get(WAIT_MAX, TimeUnit.SECONDS)));
        }
        alike(outcomes);
    }

    /** The last outcome, and how many are like it. */
    private void alike(List<List<String>> outcomes) {
        List<String> last = outcomes.get(outcomes.size() - 1);
        last.forEach(this::say);
        say(outcomes.stream().filter(last::equals).count() + " alike");
    }
}
