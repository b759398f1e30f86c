// A call that is to be made: its arguments, where its results go, and its options.
package org.farcall;

import java.time.Duration;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * The arguments of one call, by position and by name:
 *
 * <pre>{@code
 * Results r = server.routine("dsyevr").with(a).set("range", 'I').set("iu", 4).timeout(Duration.ofMinutes(1)).call();
 * }</pre>
 *
 * <p>By position go arrays and texts, and numbers that neither arrays nor defaults determine, in the order of the interface,
 * and behind them what has a constant default, unless it stands among them; by name goes anything. Nothing is changed of the arguments unless {@link #inPlace} or {@link #into} says so. For one call
 * and one thread; arrays are read when the call is made, and are the caller's again when it is over. Segments of native
 * memory are used where they lie: their arena stays open until then, and who closes it before gets an IllegalStateException.
 */
public final class Arguments {
    private static final Object UNSET = new Object();

    final Routine routine;
    private final Interface described;
    private final Object[] values;
    private final Object[] places;
    private boolean inPlace;
    /** Of the object that it is called on, or null. */
    byte[] on;
    /** What it is called on lives as long. */
    Held held;
    Consumer<Printed> output;
    Consumer<Progress> progress;
    /** 0: none. */
    double timeoutSeconds;
    /** 0: none. */
    double runTimeoutSeconds;
    double keepSeconds;
    boolean segments;
    /** Processes that MPI starts for it; 0: as many as the interface or the server says. */
    int ranks;
    /** Of the routine and of this call, or null. */
    String resources;
    /** The server that it is bound to; null for none. */
    String at;

    Arguments(Routine routine, Object... given) {
        // Of a single double[][] or String[] Java makes the argument list; its type tells.
        Object[] positional = given.getClass() == Object[].class ? given : new Object[] {given};
        this.routine = routine;
        resources = routine.resources;
        described = routine.described;
        values = new Object[described.parameters.size()];
        places = new Object[values.length];
        Arrays.fill(values, UNSET);
        Arrays.fill(places, UNSET);
        if (positional.length > described.positional.size()) {
            String message = described.name + " takes " + described.positional.size() +
                             " arguments by position (" + Interface.names(described.positional) +
                             "), not " + positional.length;
            throw wrong(message, "give others by name: with(…).set(name, value)");
        }
        for (int i = 0; i < positional.length; i++) {
            values[described.positional.get(i).index] = positional[i];
        }
    }

    private FarcallException wrong(String message, String advice) {
        return FarcallException.of(
            ErrorKind.INVALID_ARGUMENT, "call", message, advice, "routine", described.fullName);
    }

    private Parameter named(String name) {
        Parameter parameter = described.find(name);
        if (parameter == null) {
            String advice = "it takes " + Interface.names(described.visible());
            throw wrong(described.name + " takes no argument \"" + name + "\"", advice);
        }
        return parameter;
    }

    /** Gives an argument by its name; of an OUT parameter, where its result goes. */
    public Arguments set(String name, Object value) {
        Parameter parameter = named(name);
        if (!parameter.isInput()) {
            return into(name, value);
        }
        if (values[parameter.index] != UNSET) {
            throw wrong(parameter.name() + " was passed twice", "give it by position or by name");
        }
        values[parameter.index] = value;
        return this;
    }

    /**
     * Says where a result goes: an array, a segment, an NdArray of the right type and shape, or the path of a file. What a
     * failed call leaves there is of any value.
     */
    public Arguments into(String name, Object place) {
        Parameter parameter = named(name);
        if (!parameter.isOutput()) {
            throw wrong(parameter.name() + " is not a result", "give it with set(name, value)");
        }
        if (parameter.isFile && parameter.isInput()) {
            throw wrong("the file " + parameter.name() + " is replaced where it lies",
                "pass its path as the argument");
        }
        if (parameter.isText && !parameter.isFile || !parameter.isArray && !parameter.isFile) {
            throw wrong(
                "the result " + parameter.name() + " is not an array", "take it from the results");
        }
        if (places[parameter.index] != UNSET) {
            throw wrong("two places for the result " + parameter.name(), "name one");
        }
        places[parameter.index] = place;
        return this;
    }

    /** The results of INOUT arrays go over the arguments. */
    public Arguments inPlace() {
        inPlace = true;
        return this;
    }

    /** Array results stay in native memory, without a copy, until {@link Results#close}. */
    public Arguments segments() {
        segments = true;
        return this;
    }

    private double seconds(Duration given, String what) {
        if (given == null || given.isNegative() || given.isZero()) {
            throw wrong(what + " of " + given, "give a Duration above zero");
        }
        return given.toNanos() / 1e9;
    }

    /** Time for the whole call; then TIMED_OUT. */
    public Arguments timeout(Duration limit) {
        timeoutSeconds = seconds(limit, "a timeout");
        return this;
    }

    /** Time for the routine from when it begins, each time that the server runs it; then TIMED_OUT.
     * The time in the queue does not count. */
    public Arguments runTimeout(Duration limit) {
        runTimeoutSeconds = seconds(limit, "a run timeout");
        return this;
    }

    /** The server that the call is to run on, of those that the server knows, by its name or one of
     * its addresses; otherwise it runs where it is expected to end first. */
    public Arguments at(String server) {
        at = server;
        return this;
    }

    /** The call goes on without this program, and the server keeps its outcome for so long after
     * its end. */
    public Arguments keep(Duration time) {
        keepSeconds = seconds(time, "a time to keep the call");
        return this;
    }

    /**
     * What each process of the call is given: some of "cores=4, memory=2 GB, gpus=1, wall_time=30 min". What is not said is
     * as the routine has it, or its interface, or the server.
     */
    public Arguments given(String resources) {
        this.resources = Routine.over(this.resources, resources);
        return this;
    }

    /**
     * What the routine prints while it runs. The function runs in the thread that waits, for submitted calls in one of the
     * call's own; what it throws ends the call.
     */
    public Arguments onOutput(Consumer<Printed> heard) {
        output = heard;
        return this;
    }

    /** How the call is doing: its place in the queue, its begin, and what the routine says; as for
     * {@link #onOutput}. */
    public Arguments onProgress(Consumer<Progress> heard) {
        progress = heard;
        return this;
    }

    /** Makes the call and waits for its end. An interrupt of the thread ends the call. */
    public Results call() {
        return Calling.call(this);
    }

    /**
     * Makes the call and returns at once, or when the server takes one more. Whatever goes wrong completes the future. It
     * completes in a virtual thread; `cancel` ends the call, and its arrays are the caller's again.
     */
    public CallFuture submit() {
        return Calling.submit(this);
    }

    /** Files everything under its parameter. */
    Filler filled(Scratch scratch) {
        Filler filler = new Filler(described, scratch);
        try {
            for (Parameter one : described.parameters) {
                Object place = places[one.index];
                boolean over = inPlace && one.isInput() && one.isOutput() && one.isArray &&
                               !one.isText && place == UNSET;
                Object value = values[one.index];
                if (value != UNSET && one.isInput()) {
                    filler.fill(one, value, over && !one.isSingle);
                }
                if (place != UNSET && place != null && one.isFile) {
                    filler.file(one, place);
                } else if (place != UNSET && place != null) {
                    filler.destination(one, place);
                }
            }
            return filler;
        } catch (RuntimeException error) {
            filler.functions.forEach(Passed::forget);
            throw error;
        }
    }
}
