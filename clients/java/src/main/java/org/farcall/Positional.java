// Arguments as C programs write them: all parameters in order, results in the arguments themselves.
package org.farcall;

import java.lang.reflect.Array;
import java.net.URI;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Makes {@link Arguments} of the argument list of a GridRPC call. Arrays are flat, in the memory layout of the interface,
 * leading dimensions included, and may be longer than it says; OUT and INOUT numbers and texts are arrays of one.
 */
final class Positional {
    private final Interface described;
    private final Arguments call;
    /** What was given, by parameter. */
    private final Map<Parameter, Object> given = new HashMap<>();
    /** What stands for arrays of int that are such of 64-bit integers in the interface. */
    private final Map<Parameter, Widened> widened = new HashMap<>();

    /** An array of the caller's, and the wider one that the call has. */
    private record Widened(int[] given, long[] wide) {
        void narrow() {
            for (int i = 0; i < given.length; i++) {
                given[i] = (int) wide[i];
            }
        }
    }

    Positional(Arguments call, List<?> list) {
        List<?> arguments = list == null ? List.of() : list;
        this.call = call;
        described = call.routine.described;
        List<Parameter> visible = described.visible();
        if (arguments.size() != visible.size()) {
            String message = described.name + " takes " + visible.size() + " arguments (" +
                             Interface.names(visible) + "), not " + arguments.size();
            throw FarcallException.of(
                ErrorKind.INVALID_ARGUMENT, "call", message, null, "routine", described.fullName);
        }
        for (int i = 0; i < arguments.size(); i++) {
            given.put(visible.get(i), widened(visible.get(i), arguments.get(i)));
        }
        call.inPlace();
        visible.forEach(this::file);
    }

    /** A `long` of the first Ninf's has 32 bits, which is Java's int. */
    private Object widened(Parameter one, Object value) {
        boolean isWide = one.isArray && one.element != null && !one.isSingle &&
                         one.element.component == long.class;
        if (!isWide || !(value instanceof int[] narrow)) {
            return value;
        }
        long[] wide = Arrays.stream(narrow).asLongStream().toArray();
        widened.put(one, new Widened(narrow, wide));
        return wide;
    }

    private FarcallException wrong(Parameter one, String message, String advice) {
        return Operand.refused(described.fullName, one, message, advice);
    }

    /** Whether its result goes into an array of one, or texts into an array of them. */
    private static boolean isBoxed(Parameter one) {
        return one.isOutput() && !one.isFile && (one.isSingle || one.isText);
    }

    private void file(Parameter one) {
        Object value = given.get(one);
        if (isBoxed(one)) {
            boxed(one, value);
        } else if (one.isOutput() && !one.isInput()) {
            if (value != null) {
                call.into(one.name(), one.isFile ? value : laidOut(one, value));
            }
        } else {
            boolean isArray = one.isArray && !one.isText && !one.isSingle;
            call.set(
                one.name(), isArray ? laidOut(one, present(one, value)) : single(one, value));
        }
    }

    /** A character may be given as a byte. */
    private static Object single(Parameter one, Object value) {
        return one.element == Element.CHAR && value instanceof Byte letter
            ? (Object) (char) (letter & 0xff)
            : value;
    }

    /** An array of no elements may be null. */
    private Object present(Parameter one, Object value) {
        if (value != null || one.element == null) {
            return value;
        }
        for (int axis = 0; axis < one.extents().size(); axis++) {
            if (evaluated(one, axis, "size", 1) == 0) {
                return Array.newInstance(one.element.component, 0);
            }
        }
        return null;
    }

    private void boxed(Parameter one, Object value) {
        if (value == null && !one.isInput()) {
            return;
        }
        boolean fits = value != null && value.getClass().isArray() && Array.getLength(value) >= 1;
        if (!fits) {
            throw wrong(one, "it is a result, and " + Scalars.shown(value) + " has no place for it",
                "pass an array of one");
        }
        if (one.isInput()) {
            call.set(one.name(), one.isArray ? value : Array.get(value, 0));
        }
    }

    /** Puts results of one value where they were given a place. */
    void store(Results results) {
        widened.forEach((one, arrays) -> {
            if (one.isOutput()) {
                arrays.narrow();
            }
        });
        for (Parameter one : described.outputs) {
            Object place = given.get(one);
            Object result = isBoxed(one) && place != null ? results.get(one.name()) : null;
            if (result instanceof String[] texts) {
                System.arraycopy(
                    texts, 0, place, 0, Math.min(texts.length, Array.getLength(place)));
            } else if (result instanceof Complex number) {
                Array.set(place, 0,
                    place instanceof float[] ? (Object) (float) number.real()
                                             : (Object) number.real());
                Array.set(place, 1,
                    place instanceof float[] ? (Object) (float) number.imaginary()
                                             : (Object) number.imaginary());
            } else if (result != null) {
                put(one, place, result);
            }
        }
    }

    private void put(Parameter one, Object place, Object result) {
        try {
            switch (place) {
            case byte[] bytes ->
                bytes[0] =
                    (byte) (result instanceof Character c ? c : ((Number) result).longValue());
            case short[] shorts -> shorts[0] = (short) ((Number) result).longValue();
            case int[] ints -> ints[0] = (int) ((Number) result).longValue();
            case long[] longs -> longs[0] = ((Number) result).longValue();
            default -> Array.set(place, 0, result);
            }
        } catch (IllegalArgumentException | ClassCastException error) {
            throw wrong(one,
                "the result is " + Scalars.shown(result) + ", and its place " +
                    place.getClass().getSimpleName(),
                "pass " + one.wanted());
        }
    }

    // ---- Layouts
    // ---------------------------------------------------------------------------------------------

    /** A flat array as the interface lays it out, the address of one, or anything else as it is.
     */
    private Object laidOut(Parameter one, Object value) {
        if (value instanceof String address && address.contains("://")) {
            return URI.create(address);
        }
        if (value == null || Element.memoryOf(value) == null || one.struct() != null) {
            return value;
        }
        if (value.getClass().componentType() != one.element.component) {
            String given = value.getClass().getSimpleName() + ", and the interface wants " +
                           one.type() + " elements";
            throw wrong(one, given, "pass " + one.element.javaType());
        }
        int rank = one.extents().size();
        long[] shape = new long[rank];
        long[] strides = new long[rank];
        long step = one.element.bytes;
        long offset = 0;
        for (int i = 0; i < rank; i++) {
            int axis = one.isColumnOrder() ? i : rank - 1 - i;
            long size = evaluated(one, axis, "size", 0);
            long start = evaluated(one, axis, "start", 0);
            long stride = Math.max(evaluated(one, axis, "stride", 1), 1);
            long end = evaluated(one, axis, "end", size);
            shape[axis] = Math.max(0, (end - start + stride - 1) / stride);
            strides[axis] = step * stride;
            offset += start * step;
            step = Math.multiplyExact(step, Math.max(size, 1));
        }
        NdArray stored = NdArray.stored(value, one.element.bytes, offset, shape, strides);
        if (stored == null) {
            String message = "an array of " + Array.getLength(value) +
                             " items has no room for a shape of " + Arrays.toString(shape);
            throw wrong(one, message, "pass one that is as long as the interface says");
        }
        return stored;
    }

    /** A number of a dimension. What a bound depends on may be known only to the routine: then all
     * there is room for. */
    private long evaluated(Parameter one, int axis, String key, long otherwise) {
        String text = one.dimension(axis, key);
        if (text == null) {
            return otherwise;
        }
        try {
            return Expression.value(text, this::number);
        } catch (ArithmeticException error) {
            if (key.equals("end")) {
                return otherwise;
            }
            throw wrong(one, error.getMessage(), "pass an NdArray, whose shape says it");
        }
    }

    private long number(String name) {
        Parameter one = described.find(name);
        Object value = one == null || !one.isInput() ? null : given.get(one);
        if (value != null && value.getClass().isArray() && Array.getLength(value) > 0) {
            value = Array.get(value, 0);
        }
        if (!Scalars.isWhole(value)) {
            throw new ArithmeticException(
                "the size \"" + name + "\" is not an integer that is given");
        }
        return ((Number) value).longValue();
    }
}
