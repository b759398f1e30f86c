// Functions of Java's that are passed to routines, as the library calls them.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.farcall.Numbers.PARAMETER_ARRAY;
import static org.farcall.Numbers.PARAMETER_NUMBER;
import static org.farcall.Numbers.PARAMETER_TEXT;
import static org.farcall.Numbers.PARAMETER_TEXTS;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A function that was passed with a call, and what it has thrown. The library knows it by a
 * number. */
final class Passed {
    // Members of farcall_parameter.
    private static final int DATA = 8;
    private static final int KIND = 16;
    private static final int RANK = 28;
    private static final int ELEMENT_BYTES = 32;
    private static final int SHAPE = 40;
    private static final int STRIDES = 296;
    private static final int PARAMETER_BYTES = 552;
    /** The library shows so much of what a failed function says. */
    private static final int WORDS_MAX = 16 << 10;

    private static final Map<Long, Passed> ALL = new ConcurrentHashMap<>();
    private static final AtomicLong LAST = new AtomicLong();

    private final long number = LAST.incrementAndGet();
    private final String name;
    private final Parameter parameter;
    private final Callback function;
    /** The last that it threw. */
    private volatile Throwable thrown;

    Passed(String routine, Parameter parameter, Callback function) {
        name = routine + "." + parameter.name();
        this.parameter = parameter;
        this.function = function;
        ALL.put(number, this);
    }

    /** What the library gives back to {@link #run}. */
    long number() {
        return number;
    }

    /** The last that it threw, or null. */
    Throwable thrown() {
        return thrown;
    }

    /** The call is over. */
    void forget() {
        ALL.remove(number);
    }

    /** What the library calls. Nothing may be thrown through its frames. */
    static void run(long context, long running) {
        Passed passed = ALL.get(context);
        try {
            if (passed == null) {
                throw FarcallException.of(
                    ErrorKind.CANCELLED, "run a callback", "its call was given up", null);
            }
            passed.call(running);
        } catch (Throwable error) {
            if (passed != null) {
                passed.thrown = error;
            }
            fail(running, error);
        }
    }

    private static void fail(long running, Throwable error) {
        try (Arena arena = Arena.ofConfined()) {
            Native.runningFail(running, arena.allocateFrom(said(error)).address());
        }
    }

    /** What an exception says, and where it was thrown. */
    private static String said(Throwable error) {
        StackTraceElement[] places = error.getStackTrace();
        String words;
        try {
            words = error instanceof FarcallException ? error.getMessage() : error.toString();
        } catch (RuntimeException second) {
            words = error.getClass().getName() + ", which cannot say what is wrong";
        }
        if (places.length > 0 && !(error instanceof FarcallException)) {
            words += " (" + places[0].getFileName() + ", line " + places[0].getLineNumber() + ")";
        }
        return words.replace('\0', ' ').substring(0, Math.min(words.length(), WORDS_MAX));
    }

    private void call(long running) throws Exception {
        List<Parameter> parameters = parameter.parameters();
        try (Arena arena = Arena.ofConfined()) {
            long views = arena.allocate((long) PARAMETER_BYTES * parameters.size(), 16).address();
            Object[] values = new Object[parameters.size()];
            long[][] shapes = new long[parameters.size()][];
            boolean isPlaced = function instanceof PlacedCallback;
            List<Object> given = new ArrayList<>();
            for (Parameter one : parameters) {
                long view = views + (long) PARAMETER_BYTES * one.index;
                Native.runningParameter(running, one.index, view);
                shapes[one.index] = extents(view);
                if (one.isInput() && !one.isCaptured) {
                    values[one.index] = isPlaced ? flat(one, view) : value(one, view);
                    given.add(values[one.index]);
                }
            }
            List<Parameter> own = parameters.stream().filter(one -> !one.isCaptured).toList();
            Object returned = function instanceof PlacedCallback placed
                ? placed.run(own, values, shapes)
                : function.call(given.toArray());
            giveAll(running, parameters, views, values, returned, arena);
        }
    }

    /** Whether a function changes it in place, and does not return it. */
    static boolean isWritten(Parameter one) {
        return one.mode() == Parameter.Mode.INOUT && one.isArray && !one.isSingle && !one.isText;
    }

    /** Writes what came back, arrays that were changed in place first. */
    private void giveAll(long running, List<Parameter> parameters, long views, Object[] values,
        Object returned, Arena arena)
    {
        List<Parameter> wanted =
            parameters.stream().filter(one -> one.isOutput() && !isWritten(one)).toList();
        Object[] results = split(returned, wanted);
        for (Parameter one : parameters) {
            if (isWritten(one) && values[one.index] != null) {
                give(running, one, views + (long) PARAMETER_BYTES * one.index, values[one.index],
                    arena);
            }
        }
        for (int i = 0; i < results.length; i++) {
            Parameter one = wanted.get(i);
            give(running, one, views + (long) PARAMETER_BYTES * one.index, results[i], arena);
        }
    }

    /** One value for each result that is declared. */
    private Object[] split(Object returned, List<Parameter> wanted) {
        if (wanted.isEmpty()) {
            return new Object[0];
        }
        boolean several = returned instanceof Object[] && !(returned instanceof String[]);
        if (wanted.size() == 1 &&
            !(several && ((Object[]) returned).length == 1 && !wanted.get(0).isArray)) {
            return new Object[] {returned};
        }
        if (!several || ((Object[]) returned).length != wanted.size()) {
            String message = "it returned " + Scalars.shown(returned) + ", and " + wanted.size() +
                             " results are declared";
            throw wrong(message, "return new Object[] {" + Interface.names(wanted) + "}");
        }
        return (Object[]) returned;
    }

    /** A mistake of the function, which is the cause of its call's failure. */
    private FarcallException wrong(String message, String advice) {
        return FarcallException.of(
            ErrorKind.INVALID_ARGUMENT, "run a callback", message, advice, "function", name);
    }

    // ---- Values that it is given
    // -----------------------------------------------------------------------------------------

    /** What the function is given for one parameter: a copy, which it may keep. */
    private static Object value(Parameter one, long view) {
        MemorySegment memory = Native.MEMORY;
        long data = memory.get(JAVA_LONG, view + DATA);
        int kind = memory.get(JAVA_INT, view + KIND);
        if (data == 0) {
            return null;
        }
        if (kind == PARAMETER_TEXT) {
            return new String(
                Native.bytes(data, memory.get(JAVA_LONG, view + SHAPE)), StandardCharsets.UTF_8);
        }
        if (kind == PARAMETER_TEXTS) {
            String[] texts = new String[Math.toIntExact(memory.get(JAVA_LONG, view + SHAPE))];
            for (int i = 0; i < texts.length; i++) {
                texts[i] = Native.text(memory.get(JAVA_LONG, data + 8L * i));
            }
            return texts;
        }
        if (kind != PARAMETER_NUMBER && kind != PARAMETER_ARRAY) {
            return null;
        }
        long[] shape = shape(view);
        if (kind == PARAMETER_NUMBER || one.isSingle && count(shape) == 1) {
            return Scalars.read(one, data);
        }
        return Collector.array(one, data, shape, strides(view));
    }

    /** The same with numbers and arrays of several dimensions as flat arrays. */
    private static Object flat(Parameter one, long view) {
        long data = Native.MEMORY.get(JAVA_LONG, view + DATA);
        long[] shape = extents(view);
        if (data == 0 || one.isText || one.isCallback) {
            return value(one, view);
        }
        long bytes = Native.MEMORY.get(JAVA_LONG, view + ELEMENT_BYTES);
        long[] steps = shape.length == 1 && shape[0] > 1 ? strides(view) : new long[] {bytes};
        return Collector.array(one, data, new long[] {count(shape)}, steps);
    }

    /** How many elements, or texts, a farcall_parameter has in each dimension. */
    private static long[] extents(long view) {
        return switch (Native.MEMORY.get(JAVA_INT, view + KIND)) {
            case PARAMETER_ARRAY -> shape(view);
            case PARAMETER_TEXTS -> new long[] {Native.MEMORY.get(JAVA_LONG, view + SHAPE)};
            default -> new long[] {1};
        };
    }

    /** Elements of a shape. */
    private static long count(long[] shape) {
        return Arrays.stream(shape).reduce(1, (a, b) -> a * b);
    }

    /** The extents of a farcall_parameter. */
    private static long[] shape(long view) {
        return longs(view + SHAPE, Native.MEMORY.get(JAVA_INT, view + RANK));
    }

    /** Its distances in bytes. */
    private static long[] strides(long view) {
        return longs(view + STRIDES, Native.MEMORY.get(JAVA_INT, view + RANK));
    }

    private static long[] longs(long address, int count) {
        long[] values = new long[count];
        MemorySegment.copy(Native.MEMORY, JAVA_LONG, address, values, 0, count);
        return values;
    }

    // ---- Values that it gives back
    // ---------------------------------------------------------------------------------------

    /** One result, by how the library wants it. */
    private void give(long running, Parameter one, long view, Object given, Arena arena) {
        boolean isOneText =
            one.isText && one.isSingle && given instanceof String[] texts && texts.length == 1;
        Object result = isOneText ? ((String[]) given)[0] : given;
        int kind = Native.MEMORY.get(JAVA_INT, view + KIND);
        long data = Native.MEMORY.get(JAVA_LONG, view + DATA);
        if (kind == PARAMETER_TEXTS) {
            answers(running, one, Native.MEMORY.get(JAVA_LONG, view + SHAPE), result, arena);
        } else if (one.isText) {
            answer(running, one, -1, result, arena);
        } else if (data != 0 && result == null) {
            throw wrong("it returned nothing as " + one.name(), "return " + one.wanted());
        } else if (data != 0 && kind == PARAMETER_NUMBER) {
            Scalars.write(name, one, result, data);
        } else if (data != 0 && kind == PARAMETER_ARRAY) {
            giveArray(one, view, data, result, arena);
        }
    }

    /** Elements, along whatever strides the routine has them. */
    private void giveArray(Parameter one, long view, long data, Object result, Arena arena) {
        long[] declared = shape(view);
        if (one.isSingle && (result instanceof Number || result instanceof Character ||
                                result instanceof Complex)) {
            Scalars.write(name, one, result, data);
            return;
        }
        boolean isFlat = function instanceof PlacedCallback && declared.length > 1 &&
                         Element.memoryOf(result) != null;
        Object shaped = isFlat ? NdArray.stored(result, one.elementBytes(), 0, declared,
                                     strides(view))
                               : result;
        Operand operand = Operand.of(name, one, shaped, false);
        if (operand == null || !fits(one, operand.shape, declared)) {
            String message = "it returned " + Scalars.shown(result) + " as " + one.name() +
                             ", whose shape is " + Arrays.toString(declared);
            throw wrong(message, "return " + one.wanted() + " of that shape");
        }
        long[] shape = Arrays.copyOf(operand.shape, declared.length);
        Arrays.fill(shape, operand.shape.length, declared.length, 1);
        MemorySegment packed = arena.allocate(Math.max(operand.bytes(), 1), 16);
        operand.copyTo(packed.address());
        long bytes = Native.MEMORY.get(JAVA_LONG, view + ELEMENT_BYTES);
        Strided.scatter(packed, Strided.packed(shape, bytes, operand.columns), shape, bytes, data,
            strides(view));
    }

    /** Whether a result of this shape may stand for the declared one: smaller where the extent is a
     * bound. */
    private static boolean fits(Parameter one, long[] shape, long[] declared) {
        for (int axis = 0; axis < declared.length; axis++) {
            long extent = axis < shape.length ? shape[axis] : 1;
            boolean open = axis < one.openEnds.length && one.openEnds[axis];
            if (extent != declared[axis] && !(open && extent < declared[axis])) {
                return false;
            }
        }
        return shape.length <= declared.length;
    }

    /** An array of texts; nothing leaves an INOUT one as it is. */
    private void answers(long running, Parameter one, long count, Object result, Arena arena) {
        if (result == null && one.isInput()) {
            return;
        }
        if (result instanceof String text && count == 1) {
            answer(running, one, 0, text, arena);
            return;
        }
        if (!(result instanceof String[] texts) || texts.length != count) {
            throw wrong("it returned " + Scalars.shown(result) + " as " + one.name() +
                            ", which is " + count + " strings",
                "return a String[]");
        }
        for (int i = 0; i < texts.length; i++) {
            answer(running, one, i, texts[i], arena);
        }
    }

    /** One text; `element` is -1 of what is not an array. */
    private void answer(long running, Parameter one, long element, Object result, Arena arena) {
        if (result == null) {
            if (element >= 0) {
                Native.runningAnswerAt(running, one.index, element, 0, 0);
            }
            return;
        }
        if (!(result instanceof String text)) {
            throw wrong("it returned " + Scalars.shown(result) + " as " + one.name() +
                            ", which is a string",
                "return a String");
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        long address = arena.allocateFrom(text).address();
        int status = element < 0 ? Native.runningAnswer(running, one.index, address, bytes.length)
            : Native.runningAnswerAt(running, one.index, element, address, bytes.length);
        if (status != 0) {
            throw wrong(
                "it returned a text with a NUL inside as " + one.name(), "return one without");
        }
    }
}
