// An array of the caller's, as it is passed to a call or gets a result.
package org.farcall;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.util.Arrays;

/**
 * An array that a caller gave: memory and a shape. Native memory is used where it lies. Arrays of the heap move when the
 * collector wants it, so they are copied to memory that does not, and from there.
 */
final class Operand {
    /** What the caller gave. */
    final Object given;
    final long[] shape;
    /** Whether columns follow one another. */
    final boolean columns;
    final long elementBytes;
    /** Distances in bytes, of arrays with gaps; otherwise null. */
    private final long[] gaps;
    /** Bytes before the first element. */
    final long offset;
    /** All of it, or null of nested arrays. */
    private final MemorySegment flat;

    private Operand(
        Object given, MemorySegment flat, boolean columns, long elementBytes, long... shape)
    {
        this.given = given;
        this.flat = flat;
        this.columns = columns;
        this.elementBytes = elementBytes;
        this.shape = shape;
        boolean hasGaps = given instanceof NdArray array && array.hasGaps();
        gaps = hasGaps ? ((NdArray) given).strides(elementBytes) : null;
        offset = hasGaps ? ((NdArray) given).offset() : 0;
    }

    /** What is wrong with an argument. */
    static FarcallException refused(
        String routine, Parameter parameter, String message, String advice)
    {
        return FarcallException.of(ErrorKind.INVALID_ARGUMENT, "call", message, advice, "parameter",
            parameter.name(), "routine", routine);
    }

    /** An array for a parameter; null if it is not an array at all. What has other elements is
     * widened if no value can change. */
    static Operand of(String routine, Parameter parameter, Object given, boolean isDestination) {
        Object value = given;
        if (value instanceof NdArray array) {
            return ofNdArray(routine, parameter, array, isDestination);
        }
        if (value instanceof MemorySegment memory) {
            long bytes = parameter.elementBytes();
            if (memory.byteSize() % bytes != 0) {
                String message = "a segment of " + memory.byteSize() +
                                 " bytes has no whole number of elements of " + bytes + " bytes";
                throw refused(routine, parameter, message, "pass a segment of the array alone");
            }
            return new Operand(given, usable(routine, parameter, memory, isDestination), false,
                bytes, memory.byteSize() / bytes);
        }
        Class<?> type = value == null ? Object.class : value.getClass();
        if (!type.isArray()) {
            return null;
        }
        if (!type.componentType().isPrimitive()) {
            return ofRows(routine, parameter, (Object[]) value, isDestination);
        }
        value = fitting(routine, parameter, value, isDestination);
        long count = items(routine, parameter, Array.getLength(value));
        return new Operand(given, Element.memoryOf(value), false, parameter.elementBytes(), count);
    }

    private static Operand ofNdArray(
        String routine, Parameter parameter, NdArray array, boolean isDestination)
    {
        long bytes = parameter.elementBytes();
        MemorySegment flat;
        if (array.data() instanceof MemorySegment memory) {
            flat = usable(routine, parameter, memory, isDestination);
        } else {
            flat = Element.memoryOf(fitting(routine, parameter, array.data(), isDestination));
        }
        if (!array.hasGaps() && flat.byteSize() != array.size() * bytes) {
            String message = array + " has " + flat.byteSize() + " bytes, and its shape says " +
                             array.size() + " elements of " + bytes;
            throw refused(routine, parameter, message, "pass " + parameter.wanted());
        }
        return new Operand(array, flat, array.isColumnOrder(), bytes, array.shape());
    }

    private static MemorySegment usable(
        String routine, Parameter parameter, MemorySegment memory, boolean isDestination)
    {
        if (!memory.scope().isAlive() || !memory.isAccessibleBy(Thread.currentThread())) {
            throw refused(routine, parameter,
                "the arena of the segment is closed, or another thread's",
                "keep it open until the call has finished");
        }
        if (isDestination && memory.isReadOnly()) {
            throw refused(routine, parameter, "the segment for the result is read-only",
                "pass one that may be written to");
        }
        return memory;
    }

    /** Elements that `length` items of Java's are. */
    private static long items(String routine, Parameter parameter, long length) {
        int parts =
            parameter.struct() != null ? parameter.elementBytes() : parameter.element.parts();
        if (length % parts != 0) {
            String message =
                "an array of " + length + " items has no whole number of elements of " + parts;
            throw refused(routine, parameter, message, "pass " + parameter.wanted());
        }
        return length / parts;
    }

    /** A primitive array whose items are the parameter's: the given one, or a widened copy. */
    private static Object fitting(
        String routine, Parameter parameter, Object array, boolean isDestination)
    {
        Class<?> component = array.getClass().componentType();
        if (component == parameter.element.component) {
            return array;
        }
        Object widened = isDestination ? null : Widening.widened(routine, parameter, array);
        if (widened == null) {
            String what = isDestination ? "the array for the result is " : "";
            String message = what + component.getName() + "[], and the interface wants " +
                             parameter.type() + " elements";
            throw refused(routine, parameter, message, "pass " + parameter.wanted());
        }
        return widened;
    }

    private static Operand ofRows(
        String routine, Parameter parameter, Object[] rows, boolean isDestination)
    {
        int rank = 1;
        Class<?> leaf = rows.getClass().componentType();
        while (leaf.isArray()) {
            leaf = leaf.componentType();
            rank++;
        }
        if (!leaf.isPrimitive() || parameter.struct() != null) {
            String message = "an array of " + leaf.getSimpleName() + ", and the interface wants " +
                             parameter.type() + " elements";
            throw refused(routine, parameter, message, "pass " + parameter.wanted());
        }
        long[] shape = new long[rank];
        Object first = rows;
        for (int axis = 0; axis < rank; axis++) {
            shape[axis] = first == null ? 0 : Array.getLength(first);
            first = axis + 1 < rank && shape[axis] > 0 ? Array.get(first, 0) : null;
        }
        Object checked = checkedRows(routine, parameter, rows, shape, 0, isDestination);
        shape[rank - 1] = items(routine, parameter, shape[rank - 1]);
        return new Operand(
            isDestination ? rows : checked, null, false, parameter.elementBytes(), shape);
    }

    /** Rows that are as long as the first, with items of the right type. */
    private static Object checkedRows(String routine, Parameter parameter, Object part,
        long[] shape, int axis, boolean isDestination)
    {
        if (part == null || Array.getLength(part) != shape[axis]) {
            String found = part == null ? "null" : Array.getLength(part) + " items";
            throw refused(routine, parameter,
                "a row has " + found + ", and the first one " + shape[axis],
                "make all rows equally long");
        }
        if (axis == shape.length - 1) {
            return fitting(routine, parameter, part, isDestination);
        }
        Object[] rows = ((Object[]) part).clone();
        Object[] made = new Object[rows.length];
        for (int i = 0; i < rows.length; i++) {
            made[i] = checkedRows(routine, parameter, rows[i], shape, axis + 1, isDestination);
        }
        return made;
    }

    /** Whether there is more in its memory than its elements, which calls must leave as it is. */
    boolean hasGaps() {
        return gaps != null;
    }

    /** Bytes between neighbours. */
    long[] strides() {
        return gaps != null ? gaps : Strided.packed(shape, elementBytes, columns);
    }

    /** Bytes of its memory. */
    long bytes() {
        if (gaps != null) {
            return flat.byteSize();
        }
        long bytes = elementBytes;
        for (long extent : shape) {
            bytes = Math.multiplyExact(bytes, extent);
        }
        return bytes;
    }

    /** Whether the library may use it where it lies. */
    boolean isNative() {
        return flat != null && flat.isNative();
    }

    /** Where it lies, of native memory. */
    long address() {
        return flat.address();
    }

    /** What lies there. */
    MemorySegment memory() {
        return flat;
    }

    /** Copies all of it to memory outside the heap. */
    void copyTo(long address) {
        if (flat != null) {
            MemorySegment.copy(flat, 0, Native.MEMORY, address, flat.byteSize());
        } else {
            rowsTo(given, 0, address);
        }
    }

    private long rowsTo(Object part, int axis, long address) {
        if (axis == shape.length - 1) {
            MemorySegment row = Element.memoryOf(part);
            MemorySegment.copy(row, 0, Native.MEMORY, address, row.byteSize());
            return address + row.byteSize();
        }
        for (Object one : (Object[]) part) {
            address = rowsTo(one, axis + 1, address);
        }
        return address;
    }

    /** Copies the part of these extents from memory outside the heap that lies as this array does.
     */
    void copyFrom(long address, long[] extents) {
        if (flat == null) {
            rowsFrom(given, 0, address, extents);
        } else if (gaps != null || Arrays.equals(extents, shape)) {
            // What was not written is what was copied there before the call.
            MemorySegment.copy(Native.MEMORY, address, flat, 0, flat.byteSize());
        } else {
            partFrom(columns ? shape.length - 1 : 0, 0, address, extents);
        }
    }

    /** Axis after axis, the one that counts fastest last. */
    private void partFrom(int axis, long at, long address, long[] extents) {
        long[] strides = Strided.packed(shape, elementBytes, columns);
        int last = columns ? 0 : shape.length - 1;
        if (axis == last) {
            MemorySegment.copy(Native.MEMORY, address + at, flat, at, extents[axis] * elementBytes);
            return;
        }
        for (long i = 0; i < extents[axis]; i++) {
            partFrom(columns ? axis - 1 : axis + 1, at + i * strides[axis], address, extents);
        }
    }

    private void rowsFrom(Object part, int axis, long address, long[] extents) {
        long[] strides = Strided.packed(shape, elementBytes, false);
        if (axis == shape.length - 1) {
            MemorySegment.copy(
                Native.MEMORY, address, Element.memoryOf(part), 0, extents[axis] * elementBytes);
            return;
        }
        for (int i = 0; i < extents[axis]; i++) {
            rowsFrom(((Object[]) part)[i], axis + 1, address + i * strides[axis], extents);
        }
    }

    /** What the caller gave, or the part of these extents of it, where a routine says how many
     * results there are. */
    Object part(long[] extents) {
        if (Arrays.equals(extents, shape) || flat == null || gaps != null || shape.length != 1) {
            return given;
        }
        if (given instanceof MemorySegment memory) {
            return memory.asSlice(0, extents[0] * elementBytes);
        }
        if (given instanceof NdArray) {
            return new NdArray(flat.asSlice(0, extents[0] * elementBytes), columns, extents);
        }
        int items = Math.toIntExact(extents[0] * Array.getLength(given) / Math.max(shape[0], 1));
        Object copy = Array.newInstance(given.getClass().componentType(), items);
        System.arraycopy(given, 0, copy, 0, items);
        return copy;
    }
}
