// Copies arrays of any strides to arrays without gaps.
package org.farcall;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Strides, and copies along them. */
final class Strided {
    /** Side of the squares in which matrices are turned: two of them fit the innermost cache. */
    private static final int TILE = 32;

    private Strided() {}

    /** Distances in bytes of an array without gaps. */
    static long[] packed(long[] shape, long elementBytes, boolean columns) {
        long[] strides = new long[shape.length];
        long step = elementBytes;
        for (int i = 0; i < shape.length; i++) {
            int axis = columns ? i : shape.length - 1 - i;
            strides[axis] = step;
            step *= Math.max(shape[axis], 1);
        }
        return strides;
    }

    /** Whether an array has these strides, as far as it matters: not along an extent of 1. */
    static boolean isPacked(long[] shape, long[] strides, long elementBytes, boolean columns) {
        long[] wanted = packed(shape, elementBytes, columns);
        for (int i = 0; i < shape.length; i++) {
            if (shape[i] > 1 && strides[i] != wanted[i]) {
                return false;
            }
        }
        return true;
    }

    /** Copies `shape` elements at `from` in `source` to `target`, row by row and without gaps. */
    static void copy(MemorySegment source, long from, long[] strides, long[] shape,
        long elementBytes, MemorySegment target)
    {
        for (long extent : shape) {
            if (extent == 0) {
                return;
            }
        }
        new Copy(source, strides, shape, elementBytes, target).axis(0, from, 0);
    }

    /** Copies elements to memory outside the heap whose strides are others. */
    static void scatter(
        MemorySegment source, long[] from, long[] shape, long elementBytes, long address, long[] to)
    {
        for (long extent : shape) {
            if (extent == 0) {
                return;
            }
        }
        scatter(source, 0, from, shape, elementBytes, address, to, 0);
    }

    private static void scatter(MemorySegment source, long at, long[] from, long[] shape,
        long elementBytes, long address, long[] to, int axis)
    {
        if (axis == shape.length) {
            MemorySegment.copy(source, at, Native.MEMORY, address, elementBytes);
            return;
        }
        for (long i = 0; i < shape[axis]; i++) {
            scatter(source, at + i * from[axis], from, shape, elementBytes, address + i * to[axis],
                to, axis + 1);
        }
    }

    /** One copy under way. */
    private record Copy(
        MemorySegment source, long[] strides, long[] shape, long elementBytes, MemorySegment target)
    {
        /** Copies all of the axes from this one on; returns where the target's next element goes.
         */
        long axis(int axis, long from, long to) {
            int left = shape.length - axis;
            if (left == 0) {
                element(from, to);
                return to + elementBytes;
            }
            if (left == 1 && strides[axis] == elementBytes) {
                long bytes = shape[axis] * elementBytes;
                MemorySegment.copy(source, from, target, to, bytes);
                return to + bytes;
            }
            if (left == 2 && strides[axis + 1] != elementBytes) {
                return turned(axis, from, to);
            }
            for (long i = 0; i < shape[axis]; i++) {
                to = axis(axis + 1, from + i * strides[axis], to);
            }
            return to;
        }

        /** The last two axes in squares, so that what is read together is written together. */
        private long turned(int axis, long from, long to) {
            long rows = shape[axis];
            long columns = shape[axis + 1];
            for (long i = 0; i < rows; i += TILE) {
                for (long j = 0; j < columns; j += TILE) {
                    square(axis, from, to, i, j);
                }
            }
            return to + rows * columns * elementBytes;
        }

        private void square(int axis, long from, long to, long row, long column) {
            long columns = shape[axis + 1];
            long rowEnd = Math.min(row + TILE, shape[axis]);
            long columnEnd = Math.min(column + TILE, columns);
            for (long i = row; i < rowEnd; i++) {
                for (long j = column; j < columnEnd; j++) {
                    element(from + i * strides[axis] + j * strides[axis + 1],
                        to + (i * columns + j) * elementBytes);
                }
            }
        }

        private void element(long from, long to) {
            if (elementBytes == 8) {
                target.set(ValueLayout.JAVA_LONG_UNALIGNED, to,
                    source.get(ValueLayout.JAVA_LONG_UNALIGNED, from));
            } else if (elementBytes == 4) {
                target.set(ValueLayout.JAVA_INT_UNALIGNED, to,
                    source.get(ValueLayout.JAVA_INT_UNALIGNED, from));
            } else {
                MemorySegment.copy(source, from, target, to, elementBytes);
            }
        }
    }
}
