// An array of several dimensions: flat memory and a shape.
package org.farcall;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * Elements in flat memory, and their extents. Rows follow one another, as in C, unless {@link #byColumns} says that columns
 * do, as in Fortran. Nothing is copied to make one: it is a view of the array or segment that it is made of. Of complex
 * elements the shape counts the numbers, and the memory has a pair for each.
 */
public final class NdArray {
    private final Object data;
    private final long[] shape;
    private final boolean columns;
    /** Distances in bytes, and where the first element lies; null of what has no gaps. */
    private final long[] ownStrides;
    private final long offset;

    /** Elements with gaps between them, in a flat array of Java's; null if not all of them lie in
     * it. */
    static NdArray stored(Object flat, long elementBytes, long offset, long[] shape, long[] strides)
    {
        NdArray made = new NdArray(MemorySegment.NULL, false, shape);
        long last = offset;
        for (int i = 0; i < shape.length; i++) {
            last += (shape[i] - 1) * strides[i];
        }
        long bytes = Element.memoryOf(flat).byteSize();
        // Which type its items have is looked at when it is passed.
        if (made.size() > 0 && (last < 0 || last > bytes - elementBytes)) {
            return null;
        }
        return new NdArray(flat, offset, shape, strides);
    }

    private NdArray(Object data, long offset, long[] shape, long[] strides) {
        this.data = data;
        this.shape = shape;
        this.offset = offset;
        columns = false;
        ownStrides = strides;
    }

    NdArray(Object data, boolean columns, long... shape) {
        this.data = data;
        this.columns = columns;
        ownStrides = null;
        offset = 0;
        this.shape = shape.clone();
        long count = 1;
        for (long extent : shape) {
            if (extent < 0) {
                throw wrong("an extent of " + extent, "give extents of 0 or more");
            }
            count = Math.multiplyExact(count, extent);
        }
        if (!(data instanceof MemorySegment)) {
            long length = java.lang.reflect.Array.getLength(data);
            if (length != count && length != 2 * count) {
                String message =
                    "an array of " + length + " items for a shape of " + Arrays.toString(shape);
                throw wrong(message, "the product of the extents must be the number of elements");
            }
        }
    }

    private static FarcallException wrong(String message, String advice) {
        return FarcallException.of(ErrorKind.INVALID_ARGUMENT, "make an array", message, advice);
    }

    /** Elements of this array, row by row. */
    public static NdArray of(double[] flat, long... shape) {
        return new NdArray(flat, false, shape);
    }

    /** Elements of this array, row by row. */
    public static NdArray of(float[] flat, long... shape) {
        return new NdArray(flat, false, shape);
    }

    /** Elements of this array, row by row. */
    public static NdArray of(long[] flat, long... shape) {
        return new NdArray(flat, false, shape);
    }

    /** Elements of this array, row by row. */
    public static NdArray of(int[] flat, long... shape) {
        return new NdArray(flat, false, shape);
    }

    /** Elements of this array, row by row. */
    public static NdArray of(short[] flat, long... shape) {
        return new NdArray(flat, false, shape);
    }

    /** Elements of this array, row by row. */
    public static NdArray of(byte[] flat, long... shape) {
        return new NdArray(flat, false, shape);
    }

    /** Elements of this memory, row by row; native memory is passed to calls where it lies. */
    public static NdArray of(MemorySegment memory, long... shape) {
        return new NdArray(memory, false, shape);
    }

    /** The same memory, read column by column: the first index counts fastest. */
    public NdArray byColumns() {
        return new NdArray(data, true, shape);
    }

    /** The extents. */
    public long[] shape() {
        return shape.clone();
    }

    /** Number of dimensions. */
    public int rank() {
        return shape.length;
    }

    /** Number of elements. */
    public long size() {
        return Arrays.stream(shape).reduce(1, (a, b) -> a * b);
    }

    /** Whether columns follow one another, and not rows. */
    public boolean isColumnOrder() {
        return columns;
    }

    /** The flat memory itself: an array of Java's, or a MemorySegment. */
    public Object data() {
        return data;
    }

    /** The memory; of an array of Java's, a segment on the heap. */
    public MemorySegment segment() {
        return data instanceof MemorySegment memory ? memory : Element.memoryOf(data);
    }

    /** Elements of type double, row by row: the array itself where it lies so, otherwise a copy. */
    public double[] doubles() {
        return (double[]) rows(double[].class, 8);
    }

    /** Elements of type float, as {@link #doubles}. */
    public float[] floats() {
        return (float[]) rows(float[].class, 4);
    }

    /** Whole numbers of 64 bits, as {@link #doubles}. */
    public long[] longs() {
        return (long[]) rows(long[].class, 8);
    }

    /** Whole numbers of 32 bits, as {@link #doubles}. */
    public int[] ints() {
        return (int[]) rows(int[].class, 4);
    }

    /** Whole numbers of 16 bits, as {@link #doubles}. */
    public short[] shorts() {
        return (short[]) rows(short[].class, 2);
    }

    /** Bytes, as {@link #doubles}. */
    public byte[] bytes() {
        return (byte[]) rows(byte[].class, 1);
    }

    /** A matrix of double, each row an array of its own. */
    public double[][] matrix() {
        if (shape.length != 2) {
            throw wrong("an array of " + shape.length + " dimensions is not a matrix",
                "ask for array(name), and its doubles()");
        }
        double[] flat = doubles();
        int width = Math.toIntExact(shape[1]);
        int parts = size() > 0 && flat.length == 2 * size() ? 2 : 1;
        double[][] rows = new double[Math.toIntExact(shape[0])][];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = Arrays.copyOfRange(flat, i * width * parts, (i + 1) * width * parts);
        }
        return rows;
    }

    /** The element of type double at these indexes. */
    public double getDouble(long... indexes) {
        if (indexes.length != shape.length) {
            throw wrong(indexes.length + " indexes for " + shape.length + " dimensions", null);
        }
        long at = 0;
        for (int i = 0; i < shape.length; i++) {
            int axis = columns ? shape.length - 1 - i : i;
            at = at * shape[axis] + java.util.Objects.checkIndex(indexes[axis], shape[axis]);
        }
        return data instanceof double[] flat
            ? flat[Math.toIntExact(at)]
            : segment().getAtIndex(ValueLayout.JAVA_DOUBLE_UNALIGNED, at);
    }

    /** Elements row by row in an array of this type. */
    private Object rows(Class<?> wanted, int itemBytes) {
        boolean inOrder = !columns || shape.length < 2;
        if (inOrder && wanted.isInstance(data)) {
            return data;
        }
        MemorySegment memory = segment();
        long bytes = memory.byteSize();
        if (!wanted.isInstance(data) && !(data instanceof MemorySegment)) {
            throw wrong("elements lie in " + data.getClass().getSimpleName() + ", not in " +
                            wanted.getSimpleName(),
                "ask for that");
        }
        Object made = java.lang.reflect.Array.newInstance(
            wanted.componentType(), Math.toIntExact(bytes / itemBytes));
        MemorySegment into = Element.memoryOf(made);
        if (inOrder) {
            into.copyFrom(memory);
        } else if (size() > 0) {
            // Complex elements travel as pairs.
            Strided.copy(memory, 0, strides(bytes / size()), shape, bytes / size(), into);
        }
        return made;
    }

    /** Bytes between neighbours. */
    long[] strides(long elementBytes) {
        return ownStrides != null ? ownStrides : Strided.packed(shape, elementBytes, columns);
    }

    /** Whether there are gaps between its elements. */
    boolean hasGaps() {
        return ownStrides != null;
    }

    /** Bytes before its first element. */
    long offset() {
        return offset;
    }

    /** Its shape, and what it lies in: "NdArray[2, 3] of double[]". */
    @Override
    public String toString() {
        String kind =
            data instanceof MemorySegment ? "a MemorySegment" : data.getClass().getSimpleName();
        return "NdArray" + Arrays.toString(shape) + " of " + kind + (columns ? " by columns" : "");
    }
}
