// Arrays of other types for a parameter, where no value changes.
package org.farcall;

import java.lang.reflect.Array;

/** Widens arrays: whole numbers to wider ones or to real ones that hold them exactly, float to
 * double. Narrowing is refused. */
final class Widening {
    private Widening() {}

    /** A copy with items of the parameter's type; null if there is none of this type. */
    static Object widened(String routine, Parameter parameter, Object array) {
        Element wanted = parameter.element;
        Class<?> from = array.getClass().componentType();
        boolean fromReal = from == float.class || from == double.class;
        boolean fromWhole =
            from == byte.class || from == short.class || from == int.class || from == long.class;
        if (wanted.isReal() && fromReal) {
            return from == float.class ? doubles((float[]) array) : null;
        }
        boolean isWider =
            fromWhole && wanted.isWhole() && (bytes(from) < wanted.bytes || wanted.isUnsigned());
        if (!isWider && !(fromWhole && wanted.isReal())) {
            return null;
        }
        return wholes(routine, parameter, array);
    }

    /** Size of a whole type of Java's. */
    private static int bytes(Class<?> type) {
        return type == byte.class ? 1 : type == short.class ? 2 : type == int.class ? 4 : 8;
    }

    /** Every float is exact as a double. */
    private static double[] doubles(float[] array) {
        double[] made = new double[array.length];
        for (int i = 0; i < made.length; i++) {
            made[i] = array[i];
        }
        return made;
    }

    /** Each value is looked at: real types do not hold all whole numbers. */
    private static Object wholes(String routine, Parameter parameter, Object array) {
        Element wanted = parameter.element;
        int length = Array.getLength(array);
        Object made = Array.newInstance(wanted.component, length);
        for (int i = 0; i < length; i++) {
            long value = Array.getLong(array, i);
            if (!fits(value, wanted)) {
                String message = "the element [" + i + "] is " + value + ", which does not fit " +
                                 parameter.type() + " exactly";
                throw Operand.refused(routine, parameter, message, "pass " + parameter.wanted());
            }
            put(made, i, value, wanted);
        }
        return made;
    }

    /** One item. */
    private static void put(Object array, int index, long value, Element wanted) {
        switch (array) {
            case double[] one -> one[index] = value;
            case float[] one -> one[index] = value;
            case long[] one -> one[index] = value;
            case int[] one -> one[index] = (int) value;
            case short[] one -> one[index] = (short) value;
            case byte[] one -> one[index] = (byte) value;
            default -> throw new AssertionError(wanted);
        }
    }

    /** Whether a value is one of the type's; of real types, whether they hold it exactly. */
    static boolean fits(long value, Element type) {
        return switch (type) {
            case INT8 -> value == (byte) value;
            case INT16 -> value == (short) value;
            case INT32 -> value == (int) value;
            case UINT8 -> value >= 0 && value < 1L << 8;
            case UINT16 -> value >= 0 && value < 1L << 16;
            case UINT32 -> value >= 0 && value < 1L << 32;
            case UINT64 -> value >= 0;
            case FLOAT32, COMPLEX64 -> (long) (float) value == value && value != Long.MAX_VALUE;
            case FLOAT64, COMPLEX128 -> (long) (double) value == value && value != Long.MAX_VALUE;
            default -> true;
        };
    }
}
