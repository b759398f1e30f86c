// What a call gave back.
package org.farcall;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The results of a call by name, in the order of the interface; names are found in any case where that is unique. They are
 * Java's own arrays and live as long as anything refers to them. Only with {@link Arguments#segments} they lie in native
 * memory, which {@link #close} frees; what is used after that throws IllegalStateException.
 */
public final class Results implements AutoCloseable {
    private final String routine;
    private final Map<String, Object> values;
    private final Ran ran;
    /** Of results in native memory; otherwise null. */
    private final Cleaner.Cleanable cleanable;

    /** Seconds since the server accepted the call (queued, started, finished), and its name. */
    record Ran(double[] times, String server) {}

    /** Frees native results: the memory cannot be reached any more, then it is the library's again.
     */
    private record Free(Arena arena, Handle handle) implements Runnable {
        @Override
        public void run() {
            arena.close();
            handle.close();
        }
    }

    Results(String routine, Map<String, Object> values, Ran ran, Arena arena, Handle handle) {
        this.routine = routine;
        this.values = values;
        this.ran = ran;
        cleanable =
            arena == null ? null : Connection.CLEANER.register(this, new Free(arena, handle));
    }

    /** Frees results in native memory; does nothing to others. */
    @Override
    public void close() {
        if (cleanable != null) {
            cleanable.clean();
        }
    }

    /** The names of the results, in order. */
    public List<String> names() {
        return List.copyOf(values.keySet());
    }

    /**
     * A result: a primitive array of what has one dimension, an {@link NdArray} of what has more, a number, Character,
     * {@link Complex}, String, String[], byte[] of a file's content or what was given as its place; null for NULL and for
     * what the routine did not refer to.
     */
    public Object get(String name) {
        return values.get(found(name));
    }

    /** The result of this number, from 0. */
    public Object get(int index) {
        List<Object> all = new ArrayList<>(values.values());
        if (index < 0 || index >= all.size()) {
            throw FarcallException.of(ErrorKind.NOT_FOUND, "read a result",
                "there is no result " + index, "there are " + all.size());
        }
        return all.get(index);
    }

    private String found(String name) {
        if (values.containsKey(name)) {
            return name;
        }
        List<String> similar = values.keySet().stream().filter(name::equalsIgnoreCase).toList();
        if (similar.size() == 1) {
            return similar.get(0);
        }
        String names = values.isEmpty() ? "no results" : String.join(", ", values.keySet());
        throw FarcallException.of(ErrorKind.NOT_FOUND, "read a result",
            "no result is called \"" + name + "\"", "there are " + names, "routine", routine);
    }

    private FarcallException other(String name, String wanted) {
        String message =
            "the result " + name + " is " + Scalars.shown(get(name)) + ", and no " + wanted;
        return FarcallException.of(
            ErrorKind.INVALID_ARGUMENT, "read a result", message, null, "routine", routine);
    }

    /** A result as an array of any number of dimensions; null if there is none. */
    public NdArray array(String name) {
        Object value = get(name);
        if (value == null || value instanceof NdArray) {
            return (NdArray) value;
        }
        if (value instanceof MemorySegment memory) {
            return NdArray.of(memory, memory.byteSize());
        }
        if (Element.memoryOf(value) == null) {
            throw other(name, "array of numbers");
        }
        return new NdArray(value, false, java.lang.reflect.Array.getLength(value));
    }

    /** A result of type double, row by row; of dcomplex, pairs. */
    public double[] doubles(String name) {
        return get(name) instanceof double[] own ? own : array(name).doubles();
    }

    /** A result of type float, row by row; of scomplex, pairs. */
    public float[] floats(String name) {
        return get(name) instanceof float[] own ? own : array(name).floats();
    }

    /** A result of 64-bit whole numbers, row by row. */
    public long[] longs(String name) {
        return get(name) instanceof long[] own ? own : array(name).longs();
    }

    /** A result of 32-bit whole numbers, row by row. */
    public int[] ints(String name) {
        return get(name) instanceof int[] own ? own : array(name).ints();
    }

    /** A result of 16-bit whole numbers, row by row. */
    public short[] shorts(String name) {
        return get(name) instanceof short[] own ? own : array(name).shorts();
    }

    /** A result of 8-bit whole numbers or characters, the content of a file, or a struct. */
    public byte[] bytes(String name) {
        return get(name) instanceof byte[] own ? own : array(name).bytes();
    }

    /** A result of two dimensions, each row an array of its own. */
    public double[][] matrix(String name) {
        return get(name) instanceof double[][] own ? own : array(name).matrix();
    }

    /** The native memory of an array, in the order that {@link NdArray#isColumnOrder} of {@link
     * #array} says. */
    public MemorySegment segment(String name) {
        return get(name) instanceof MemorySegment own ? own : array(name).segment();
    }

    private Number number(String name) {
        if (get(name) instanceof Number number) {
            return number;
        }
        throw other(name, "number");
    }

    /** One real number. */
    public double real(String name) {
        return number(name).doubleValue();
    }

    /** One whole number that fits an int. */
    public int integer(String name) {
        long value = wide(name);
        if (value != (int) value) {
            throw other(name, "int; ask for wide(name)");
        }
        return (int) value;
    }

    /** One whole number; one of uint64 beyond the range of long is refused: it is a BigInteger. */
    public long wide(String name) {
        Number number = number(name);
        boolean fits = number instanceof java.math.BigInteger big ? big.bitLength() <= 63
                                                                  : Scalars.isWhole(number);
        if (!fits) {
            throw other(name, "whole number of 64 bits");
        }
        return number.longValue();
    }

    /** One complex number. */
    public Complex complex(String name) {
        if (get(name) instanceof Complex number) {
            return number;
        }
        throw other(name, "complex number");
    }

    /** A text, or one character; null for NULL. */
    public String text(String name) {
        Object value = get(name);
        if (value == null || value instanceof String || value instanceof Character) {
            return value == null ? null : value.toString();
        }
        throw other(name, "text");
    }

    /** Texts. */
    public String[] texts(String name) {
        if (get(name) instanceof String[] texts) {
            return texts;
        }
        throw other(name, "array of texts");
    }

    /** The file that a result was written to. */
    public Path path(String name) {
        return switch (get(name)) {
            case Path path -> path;
            case java.io.File file -> file.toPath();
            case String path -> Path.of(path);
            case null, default -> throw other(name, "file; give its place with into(name, path)");
        };
    }

    /** The name of the server that the call ran on; the address that was connected to where no other
     * server is known. */
    public String server() {
        return ran.server();
    }

    /** Seconds from when the server accepted the call until it was queued. */
    public double queuedSeconds() {
        return ran.times()[0];
    }

    /** Seconds from when the server accepted the call until its routine began. */
    public double startedSeconds() {
        return ran.times()[1];
    }

    /** Seconds from when the server accepted the call until its routine ended. */
    public double finishedSeconds() {
        return ran.times()[2];
    }

    /** Names and values, arrays by their shape. */
    @Override
    public String toString() {
        List<String> parts = new ArrayList<>();
        values.forEach((name, value) -> parts.add(name + "=" + shown(value)));
        return "Results(" + String.join(", ", parts) + ")";
    }

    private static String shown(Object value) {
        return switch (value) {
            case double[] one when one.length <= 6 -> java.util.Arrays.toString(one);
            case int[] one when one.length <= 6 -> java.util.Arrays.toString(one);
            case null -> "null";
            case Number one -> one.toString();
            case NdArray one -> one.toString();
            default -> Scalars.shown(value);
        };
    }
}
