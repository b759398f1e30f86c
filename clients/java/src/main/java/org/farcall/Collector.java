// From what a call gave back to Java's values.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.farcall.Numbers.RESULT_ARRAY;
import static org.farcall.Numbers.RESULT_TEXT;
import static org.farcall.Numbers.RESULT_TEXTS;
import static org.farcall.Numbers.RESULT_WRITTEN;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** Takes the results of one call: copies them to arrays of Java's, or leaves them where they lie.
 */
final class Collector {
    // Members of farcall_array_view.
    private static final int VIEW_BYTES = 536;
    private static final int RANK = 12;
    private static final int SHAPE = 24;
    private static final int STRIDES = 280;

    private static final MemorySegment MEMORY = Native.MEMORY;

    private final Filler filler;
    private final long results;
    private final Scratch scratch;
    /** Of results that are left where they lie; otherwise null. */
    private final Arena arena;

    Collector(Filler filler, long results, Scratch scratch, Arena arena) {
        this.filler = filler;
        this.results = results;
        this.scratch = scratch;
        this.arena = arena;
    }

    /** Values by name, in order. */
    Map<String, Object> values(Interface described) {
        Map<String, Object> values = new LinkedHashMap<>(2 * described.outputs.size());
        long view = scratch.allocate(VIEW_BYTES);
        for (Parameter one : described.outputs) {
            values.put(one.name(), value(one, view));
        }
        return values;
    }

    /** Where the call ran, and when. */
    Results.Ran ran() {
        return new Results.Ran(times(), Native.resultsServer(results));
    }

    /** Seconds since the server accepted the call: queued, started, finished. */
    private double[] times() {
        long times = scratch.allocate(24);
        Native.resultsTimes(results, times);
        double[] seconds = new double[3];
        for (int i = 0; i < seconds.length; i++) {
            seconds[i] = MEMORY.get(JAVA_LONG, times + 8L * i) / 1e9;
        }
        return seconds;
    }

    /** A result by its kind. */
    private Object value(Parameter one, long view) {
        return switch (Native.resultsKind(results, one.index)) {
            case RESULT_ARRAY -> fresh(one, view);
            case RESULT_WRITTEN -> one.isFile ? filler.fileOf(one) : written(one, view);
            case RESULT_TEXT -> one.isFile ? bytes(one, 0) : text(one, 0);
            case RESULT_TEXTS -> all(one);
            default -> null;
        };
    }

    /** Several texts, or contents of files. */
    private Object all(Parameter one) {
        int count = Math.toIntExact(Native.resultsTextCount(results, one.index));
        Object all = one.isFile ? new byte[count][] : new String[count];
        for (int i = 0; i < count; i++) {
            Array.set(all, i, one.isFile ? bytes(one, i) : text(one, i));
        }
        return one.isSingle && count == 1 ? Array.get(all, 0) : all;
    }

    /** A copy of a text or of a file's content. */
    private byte[] bytes(Parameter one, long index) {
        long length = scratch.allocate(8);
        long data = Native.resultsText(results, one.index, index, length);
        return data == 0 ? null : Native.bytes(data, MEMORY.get(JAVA_LONG, length));
    }

    /** The same as text. */
    private String text(Parameter one, long index) {
        byte[] bytes = bytes(one, index);
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    /** Describes an array result at `view`. */
    private void look(Parameter one, long view) {
        long error = scratch.allocate(8);
        Native.check(Native.resultsArray(results, one.index, view, error), error);
    }

    /** Extents or strides of a view. */
    private static long[] longs(long address, int count) {
        long[] values = new long[count];
        MemorySegment.copy(MEMORY, JAVA_LONG, address, values, 0, count);
        return values;
    }

    /** Its number of dimensions. */
    private static int rank(long view) {
        return MEMORY.get(java.lang.foreign.ValueLayout.JAVA_INT, view + RANK);
    }

    // ---- Results in memory of their own
    // ----------------------------------------------------------------------------------

    /** An array in memory of its own, or one value. */
    private Object fresh(Parameter one, long view) {
        look(one, view);
        long data = MEMORY.get(JAVA_LONG, view);
        int rank = rank(view);
        if ((one.isSingle || rank == 0) && isOne(view, rank)) {
            return Scalars.read(one, data);
        }
        long[] shape = longs(view + SHAPE, rank);
        long[] strides = longs(view + STRIDES, rank);
        return arena == null ? array(one, data, shape, strides) : left(one, data, shape, strides);
    }

    /** Whether all extents are 1. Most results of small calls are such, so that nothing is
     * allocated here. */
    private static boolean isOne(long view, int rank) {
        for (int axis = 0; axis < rank; axis++) {
            if (MEMORY.get(JAVA_LONG, view + SHAPE + 8L * axis) != 1) {
                return false;
            }
        }
        return true;
    }

    /** The array where it lies; if its strides are odd, a copy. */
    private Object left(Parameter one, long data, long[] shape, long[] strides) {
        long elementBytes = one.elementBytes();
        boolean columns = !Strided.isPacked(shape, strides, elementBytes, false);
        long bytes = Arrays.stream(shape).reduce(elementBytes, (a, b) -> a * b);
        if (bytes == 0 || columns && !Strided.isPacked(shape, strides, elementBytes, true)) {
            MemorySegment copy = arena.allocate(Math.max(bytes, 1), 16).asSlice(0, bytes);
            Strided.copy(MEMORY, data, strides, shape, elementBytes, copy);
            return new NdArray(copy, false, shape);
        }
        return new NdArray(
            MemorySegment.ofAddress(data).reinterpret(bytes, arena, null), columns, shape);
    }

    /** A copy on the heap: a primitive array of what has one dimension, and otherwise an NdArray,
     * in the order of the memory. */
    static Object array(Parameter one, long data, long[] shape, long[] strides) {
        long elementBytes = one.elementBytes();
        long items = Arrays.stream(shape).reduce(1, (a, b) -> a * b);
        items *= one.struct() != null ? elementBytes : one.element.parts();
        if (items > Integer.MAX_VALUE - 8) {
            String message = "the result " + one.name() + " has " + items +
                             " items, and an array of Java's has at most 2^31";
            throw FarcallException.of(ErrorKind.LIMIT_EXCEEDED, "take results", message,
                "ask for segments(), or give a MemorySegment with into()");
        }
        Object made = Array.newInstance(one.element.component, (int) items);
        MemorySegment into = Element.memoryOf(made);
        boolean byColumns = shape.length > 1 && Strided.isPacked(shape, strides, elementBytes, true)
            && !Strided.isPacked(shape, strides, elementBytes, false);
        if (byColumns) {
            MemorySegment.copy(MEMORY, data, into, 0, into.byteSize());
        } else if (Strided.isPacked(shape, strides, elementBytes, false)) {
            MemorySegment.copy(MEMORY, data, into, 0, into.byteSize());
        } else {
            Strided.copy(MEMORY, data, strides, shape, elementBytes, into);
        }
        return shape.length <= 1 ? made : new NdArray(made, byColumns, shape);
    }

    // ---- Results in arrays of the caller's
    // -------------------------------------------------------------------------------

    private Object written(Parameter one, long view) {
        Filler.Place place = filler.places[one.index];
        Operand operand = place.operand();
        look(one, view);
        // It may have fewer dimensions than declared: the missing ones count as 1.
        long[] extents = longs(view + SHAPE, Math.min(rank(view), operand.shape.length));
        extents = Arrays.copyOf(extents, operand.shape.length);
        for (int axis = rank(view); axis < extents.length; axis++) {
            extents[axis] = 1;
        }
        if (!operand.isNative()) {
            operand.copyFrom(place.address(), extents);
        }
        return operand.part(extents);
    }
}
