// Single numbers and characters between Java and memory.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.math.BigInteger;

/**
 * One element as an object of Java's: whole numbers are Integer if all values of the type fit it, otherwise Long, and
 * BigInteger for uint64; real ones Float and Double; then Complex, Character, and byte[] for a struct.
 */
final class Scalars {
    private static final BigInteger UINT64_END = BigInteger.ONE.shiftLeft(64);

    private Scalars() {}

    static Object read(Parameter parameter, long address) {
        MemorySegment memory = Native.MEMORY;
        return switch (parameter.element) {
            case CHAR -> (char) (memory.get(JAVA_BYTE, address) & 0xff);
            case INT8 -> (int) memory.get(JAVA_BYTE, address);
            case UINT8 -> memory.get(JAVA_BYTE, address) & 0xff;
            case INT16 -> (int) memory.get(JAVA_SHORT_UNALIGNED, address);
            case UINT16 -> memory.get(JAVA_SHORT_UNALIGNED, address) & 0xffff;
            case INT32 -> memory.get(JAVA_INT_UNALIGNED, address);
            case UINT32 -> memory.get(JAVA_INT_UNALIGNED, address) & 0xffffffffL;
            case INT64 -> memory.get(JAVA_LONG_UNALIGNED, address);
            case UINT64 -> natural(memory.get(JAVA_LONG_UNALIGNED, address));
            case FLOAT32 -> memory.get(JAVA_FLOAT_UNALIGNED, address);
            case FLOAT64 -> memory.get(JAVA_DOUBLE_UNALIGNED, address);
            case COMPLEX64 ->
                new Complex(memory.get(JAVA_FLOAT_UNALIGNED, address),
                    memory.get(JAVA_FLOAT_UNALIGNED, address + 4));
            case COMPLEX128 ->
                new Complex(memory.get(JAVA_DOUBLE_UNALIGNED, address),
                    memory.get(JAVA_DOUBLE_UNALIGNED, address + 8));
            case STRUCT -> Native.bytes(address, parameter.elementBytes());
        };
    }

    /** Bits of a uint64 as the number that they mean. */
    private static BigInteger natural(long bits) {
        BigInteger value = BigInteger.valueOf(bits);
        return bits < 0 ? value.add(UINT64_END) : value;
    }

    /** Writes one element of the parameter's type, checked. */
    static void write(String routine, Parameter parameter, Object value, long address) {
        MemorySegment memory = Native.MEMORY;
        Element type = parameter.element;
        if (type == Element.CHAR) {
            memory.set(JAVA_BYTE, address, character(routine, parameter, value));
        } else if (type.isWhole()) {
            long whole = whole(routine, parameter, value);
            switch (type.bytes) {
                case 1 -> memory.set(JAVA_BYTE, address, (byte) whole);
                case 2 -> memory.set(JAVA_SHORT_UNALIGNED, address, (short) whole);
                case 4 -> memory.set(JAVA_INT_UNALIGNED, address, (int) whole);
                default -> memory.set(JAVA_LONG_UNALIGNED, address, whole);
            }
        } else {
            Complex number = number(routine, parameter, value);
            if (type.bytes / type.parts() == 4) {
                memory.set(JAVA_FLOAT_UNALIGNED, address, (float) number.real());
            } else {
                memory.set(JAVA_DOUBLE_UNALIGNED, address, number.real());
            }
            if (type == Element.COMPLEX64) {
                memory.set(JAVA_FLOAT_UNALIGNED, address + 4, (float) number.imaginary());
            } else if (type == Element.COMPLEX128) {
                memory.set(JAVA_DOUBLE_UNALIGNED, address + 8, number.imaginary());
            }
        }
    }

    /** A whole number in the range of the parameter's type; of uint64 its bits. What is logical is
     * 1 or 0. */
    static long whole(String routine, Parameter parameter, Object value) {
        if (value instanceof Boolean logical) {
            return logical ? 1 : 0;
        } else if (value instanceof BigInteger big) {
            boolean fits =
                parameter.element == Element.UINT64
                    ? big.signum() >= 0 && big.bitLength() <= 64
                    : big.bitLength() <= 63 && Widening.fits(big.longValue(), parameter.element);
            if (fits) {
                return big.longValue();
            }
        } else if (isWhole(value)) {
            long number = ((Number) value).longValue();
            if (Widening.fits(number, parameter.element)) {
                return number;
            }
        } else {
            String advice = value instanceof Double || value instanceof Float
                                ? "cast it if you mean a whole number"
                                : null;
            throw refused(routine, parameter, "a whole number", value, advice);
        }
        throw Operand.refused(
            routine, parameter, value + " does not fit " + parameter.type(), null);
    }

    /** Whether it is one of Java's whole numbers. */
    static boolean isWhole(Object value) {
        return value instanceof Integer || value instanceof Long || value instanceof Short ||
            value instanceof Byte;
    }

    /** A real or complex number of the parameter's type; a whole one must be exact, and none may
     * become infinite. */
    static Complex number(String routine, Parameter parameter, Object value) {
        Element type = parameter.element;
        if (isWhole(value)) {
            long whole = ((Number) value).longValue();
            if (!Widening.fits(whole, type)) {
                throw Operand.refused(routine, parameter,
                    whole + " is not exact as " + parameter.type(), "pass a double to round it");
            }
            return new Complex(whole, 0);
        }
        Complex number;
        if (value instanceof Double || value instanceof Float) {
            number = new Complex(((Number) value).doubleValue(), 0);
        } else if (value instanceof Complex complex && type.isComplex()) {
            number = complex;
        } else {
            throw refused(
                routine, parameter, type.isComplex() ? "a number" : "a real number", value, null);
        }
        boolean isSingle = type == Element.FLOAT32 || type == Element.COMPLEX64;
        if (isSingle && (overflows(number.real()) || overflows(number.imaginary()))) {
            throw Operand.refused(routine, parameter,
                value + " does not fit " + parameter.type() + ": it would become infinite", null);
        }
        return number;
    }

    /** Whether it would become infinite as a float. */
    private static boolean overflows(double value) {
        return Double.isFinite(value) && Float.isInfinite((float) value);
    }

    /** One character: a Character, or a String of one. */
    static byte character(String routine, Parameter parameter, Object value) {
        String text = value instanceof Character || value instanceof String ? value.toString() : "";
        if (text.length() != 1 || text.charAt(0) > 0xff) {
            throw refused(routine, parameter, "one character", value, "pass a char");
        }
        return (byte) text.charAt(0);
    }

    /** A value of another kind. */
    static FarcallException refused(
        String routine, Parameter parameter, String wanted, Object value, String advice)
    {
        String message =
            "the interface wants " + wanted + " (" + parameter.type() + "), not " + shown(value);
        return Operand.refused(routine, parameter, message, advice);
    }

    /** A value in a message. */
    static String shown(Object value) {
        if (value == null) {
            return "null";
        }
        String kind = value.getClass().getSimpleName();
        if (value.getClass().isArray()) {
            return kind.replaceFirst("\\[]", "[" + java.lang.reflect.Array.getLength(value) + "]");
        }
        String text = String.valueOf(value);
        return (text.length() <= 40 ? text : text.substring(0, 37) + "...") + " (" + kind + ")";
    }
}
