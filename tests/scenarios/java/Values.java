// Arguments of the scenarios as Java's values, and the one form in which all clients print results
// (README.md, Results).

import java.lang.reflect.Array;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.farcall.Complex;
import org.farcall.NdArray;

/** One line of `in`, `inout`, `out` or `callback`: what a call is given, or gives. */
final class Values {
    /** Of more numbers than these, a checksum is printed. */
    private static final int SHOWN_MAX = 32;
    private static final int PRIME = 61;

    final String mode;
    final String name;
    final String type;
    /** Empty of a scalar. */
    final long[] shape;
    final String layout;
    /** A primitive array (of one element, or a pair, of scalars), String[], or byte[] of a file;
     * null is NULL. */
    Object value;

    /** Reads what stands behind the first word: `NAME TYPE EXTENT… [@LAYOUT] [ramp N] [: VALUE…]`.
     */
    Values(String mode, String rest) {
        this.mode = mode;
        int colon = (rest + " ").indexOf(" : ") >= 0 ? rest.indexOf(" :") : -1;
        if (colon < 0 && rest.endsWith(" :")) {
            colon = rest.length() - 2;
        }
        List<String> head = new ArrayList<>(
            List.of((colon < 0 ? rest : rest.substring(0, colon)).trim().split(" +")));
        String tail = colon < 0 ? "" : rest.substring(colon + 2).trim();
        name = head.remove(0);
        type = head.remove(0);
        List<Long> extents = new ArrayList<>();
        while (!head.isEmpty() && head.get(0).matches("\\d+")) {
            extents.add(Long.valueOf(head.remove(0)));
        }
        shape = extents.stream().mapToLong(Long::longValue).toArray();
        layout = !head.isEmpty() && head.get(0).startsWith("@") ? head.remove(0).substring(1) : "";
        value = switch (mode) {
            case "out" ->
                type.equals("string") || type.equals("filename")
                    ? null
                    : Array.newInstance(component(), items());
            case "callback" -> null;
            default -> read(head, tail);
        };
    }

    boolean isResult() {
        return mode.equals("inout") || mode.equals("out");
    }

    private boolean isComplex() {
        return type.endsWith("complex");
    }

    /** The item of Java's array for the type. */
    private Class<?> component() {
        return switch (type) {
            case "char", "int8", "uint8" -> byte.class;
            case "int16", "uint16" -> short.class;
            case "int32", "uint32" -> int.class;
            case "int64", "uint64" -> long.class;
            case "float", "scomplex" -> float.class;
            default -> double.class;
        };
    }

    /** Items of that array. */
    private int items() {
        return Math.toIntExact(LongStream.of(shape).reduce(isComplex() ? 2 : 1, (a, b) -> a * b));
    }

    // ---- Reading
    // ---------------------------------------------------------------------------------------------

    /** The value behind the colon, or a ramp. */
    private Object read(List<String> head, String tail) {
        if (type.equals("filename")) {
            return file(head, tail);
        }
        if (type.equals("string")) {
            return texts(tail);
        }
        Object numbers = Array.newInstance(component(), items());
        boolean isRamp = !head.isEmpty();
        String[] words = tail.split(" +");
        int parts = isComplex() ? 2 : 1;
        for (int i = 0; i < items(); i++) {
            String word = !isRamp          ? words[i]
                          : i % parts == 0 ? Long.toString(i / parts % Long.parseLong(head.get(1)))
                                           : "0";
            put(numbers, i, word);
        }
        return numbers;
    }

    /** The content of a file. */
    private static byte[] file(List<String> head, String tail) {
        if (head.isEmpty()) {
            return tail.equals("missing") ? null : texts(tail)[0].getBytes(StandardCharsets.UTF_8);
        }
        // The extents were none: they are `ramp COUNT N`.
        byte[] content = new byte[Integer.parseInt(head.get(1))];
        for (int i = 0; i < content.length; i++) {
            content[i] = (byte) (i % Integer.parseInt(head.get(2)));
        }
        return content;
    }

    /** Texts in quotes, or null. */
    private static String[] texts(String tail) {
        List<String> texts = new ArrayList<>();
        for (String rest = tail.trim(); !rest.isEmpty();) {
            int end = rest.startsWith("\"") ? rest.indexOf('"', 1) + 1 : (rest + " ").indexOf(' ');
            texts.add(rest.startsWith("\"") ? rest.substring(1, end - 1) : null);
            rest = rest.substring(end).trim();
        }
        return texts.toArray(new String[0]);
    }

    /** One item from its word. */
    private static void put(Object array, int index, String word) {
        switch (array) {
            case byte[] one -> one[index] = (byte) Integer.parseInt(word);
            case short[] one -> one[index] = (short) Integer.parseInt(word);
            case int[] one -> one[index] = (int) Long.parseLong(word);
            case long[] one -> one[index] = new BigInteger(word).longValue();
            case float[] one -> one[index] = (float) real(word);
            default -> Array.setDouble(array, index, real(word));
        }
    }

    /** Java has other words for these numbers. */
    private static double real(String word) {
        return switch (word) {
            case "nan" -> Double.NaN;
            case "inf" -> Double.POSITIVE_INFINITY;
            case "-inf" -> Double.NEGATIVE_INFINITY;
            default -> Double.parseDouble(word);
        };
    }

    // ---- What a call is given
    // --------------------------------------------------------------------------------------------

    /** The Java value of an argument that is no file. */
    Object given() {
        if (type.equals("string")) {
            return shape.length > 0 ? value : ((String[]) value)[0];
        }
        if (shape.length > 0) {
            return laidOut();
        }
        return switch (type) {
            case "char" -> (char) (((byte[]) value)[0] & 0xff);
            case "uint8" -> ((byte[]) value)[0] & 0xff;
            case "uint16" -> ((short[]) value)[0] & 0xffff;
            case "uint32" -> ((int[]) value)[0] & 0xffffffffL;
            case "uint64" -> new BigInteger(Long.toUnsignedString(((long[]) value)[0]));
            case "scomplex", "dcomplex" ->
                new Complex(Array.getDouble(value, 0), Array.getDouble(value, 1));
            default -> Array.get(value, 0);
        };
    }

    /** The array as the caller has it in memory. Java has no arrays with gaps: they are passed
     * without. */
    Object laidOut() {
        if (!layout.equals("columns")) {
            return shape.length == 1 ? value : matrix(value);
        }
        Object turned = Array.newInstance(component(), items());
        int parts = isComplex() ? 2 : 1;
        for (int i = 0; i < shape[0]; i++) {
            for (int j = 0; j < shape[1]; j++) {
                System.arraycopy(value, (int) (i * shape[1] + j) * parts, turned,
                    (int) (j * shape[0] + i) * parts, parts);
            }
        }
        return matrix(turned).byColumns();
    }

    /** A view with a shape. */
    private NdArray matrix(Object flat) {
        return switch (flat) {
            case byte[] one -> NdArray.of(one, shape);
            case short[] one -> NdArray.of(one, shape);
            case int[] one -> NdArray.of(one, shape);
            case long[] one -> NdArray.of(one, shape);
            case float[] one -> NdArray.of(one, shape);
            default -> NdArray.of((double[]) flat, shape);
        };
    }

    // ---- Printing
    // ---------------------------------------------------------------------------------------------

    /** One result as all clients print it. */
    String shown(Object result) {
        String head = name + " " + type;
        if (result == null) {
            return head + " : null";
        }
        if (type.equals("filename")) {
            byte[] content = (byte[]) result;
            return content.length <= SHOWN_MAX
                ? head + " : \"" + new String(content, StandardCharsets.UTF_8) + "\""
                : head + " " + content.length + " : " + checksum(content);
        }
        if (type.equals("string")) {
            // What is declared [1] may come as the one text that it is.
            String[] texts = result instanceof String[] all ? all : new String[] {(String) result};
            String extents = shape.length > 0 ? " " + texts.length : "";
            return head + extents + " : " +
                Arrays.stream(texts)
                    .map(one -> one == null ? "null" : "\"" + one + "\"")
                    .collect(Collectors.joining(" "));
        }
        long[] extents = result instanceof NdArray array ? array.shape()
                         : result.getClass().isArray()
                             ? new long[] {Array.getLength(result) / (isComplex() ? 2 : 1)}
                             : new long[0];
        StringBuilder line = new StringBuilder(head);
        for (long extent : shape.length > 0 ? extents : new long[0]) {
            line.append(' ').append(extent);
        }
        return line.append(" : ").append(numbers(flat(result))).toString().stripTrailing();
    }

    /** The elements row by row in an array of the type. */
    private Object flat(Object result) {
        if (result instanceof NdArray array) {
            return switch (component().getName()) {
                case "byte" -> array.bytes();
                case "short" -> array.shorts();
                case "int" -> array.ints();
                case "long" -> array.longs();
                case "float" -> array.floats();
                default -> array.doubles();
            };
        }
        if (result.getClass().isArray()) {
            if (result.getClass().componentType() != component()) {
                throw new IllegalStateException(name + " is " + result.getClass().getSimpleName());
            }
            return result;
        }
        Object made = Array.newInstance(component(), isComplex() ? 2 : 1);
        switch (result) {
            case Complex number -> {
                put(made, 0, Double.toString(number.real()).toLowerCase(Locale.ROOT));
                put(made, 1, Double.toString(number.imaginary()).toLowerCase(Locale.ROOT));
            }
            case Character one -> put(made, 0, Integer.toString(one));
            case Float one -> ((float[]) made)[0] = one;
            case Double one -> ((double[]) made)[0] = one;
            default -> put(made, 0, result.toString());
        }
        return made;
    }

    /** Elements as words, or a checksum of many. */
    private String numbers(Object flat) {
        int length = Array.getLength(flat);
        if (length > SHOWN_MAX) {
            return checksum(flat);
        }
        List<String> words = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            words.add(switch (flat) {
                case float[] one ->
                    shownReal(one[i], 1 << 24, "x%08x", Float.floatToRawIntBits(one[i]));
                case double[] one ->
                    shownReal(one[i], 1L << 53, "x%016x", Double.doubleToRawLongBits(one[i]));
                case long[] one ->
                    type.equals("uint64") ? Long.toUnsignedString(one[i]) : Long.toString(one[i]);
                default -> Long.toString(bits(flat, i, !type.startsWith("int")));
            });
        }
        return String.join(" ", words);
    }

    /** A whole number as such, any other by its bits; -0 is not an integer. */
    private static String shownReal(double number, long wholeEnd, String form, Object bits) {
        if (Double.isNaN(number)) {
            return "nan";
        }
        if (Double.isInfinite(number)) {
            return number > 0 ? "inf" : "-inf";
        }
        boolean isWhole = number == Math.rint(number) && Math.abs(number) < wholeEnd &&
                          Double.doubleToRawLongBits(number) != Long.MIN_VALUE;
        return isWhole ? Long.toString((long) number) : String.format(form, bits);
    }

    /** Bits of an item, with its sign or without. */
    private static long bits(Object array, int index, boolean isUnsigned) {
        return switch (array) {
            case byte[] one -> isUnsigned ? one[index] & 0xff : one[index];
            case short[] one -> isUnsigned ? one[index] & 0xffff : one[index];
            case int[] one -> isUnsigned ? one[index] & 0xffffffffL : one[index];
            case float[] one -> Float.floatToRawIntBits(one[index]) & 0xffffffffL;
            case double[] one -> Double.doubleToRawLongBits(one[index]);
            default -> Array.getLong(array, index);
        };
    }

    /** The exclusive or of the items' bits, number k rotated to the left by k modulo 61. */
    private static String checksum(Object array) {
        long total = 0;
        int length = Array.getLength(array);
        for (int i = 0; i < length; i++) {
            total ^= Long.rotateLeft(bits(array, i, true), i % PRIME);
        }
        return String.format("#%016x", total);
    }
}
