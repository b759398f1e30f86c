// Arguments of the types that Ninf-G's client takes, as those of this one.
package org.farcall;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apgrid.grpc.ng.Dcomplex;
import org.apgrid.grpc.ng.NgCallbackInterface;
import org.apgrid.grpc.ng.Scomplex;

/**
 * Arrays of arrays become one flat array, row after row; Scomplex[] and Dcomplex[] become pairs, char[] bytes, and functions
 * {@link PlacedCallback}. What a call has changed goes back to where it came from.
 */
final class Counterparts {
    private Counterparts() {}

    /** A list in which all that has a counterpart is replaced. */
    static List<Object> plain(List<?> given) {
        List<Object> made = new ArrayList<>();
        for (Object one : given == null ? List.of() : given) {
            made.add(plain(one));
        }
        return made;
    }

    /** One argument's counterpart; itself where it has none. */
    static Object plain(Object given) {
        return switch (given) {
            case null -> null;
            case Scomplex number -> new Complex(number.r, number.i);
            case Dcomplex number -> new Complex(number.r, number.i);
            case NgCallbackInterface function -> new PlacedCallback(function);
            default -> hasCounterpart(given) ? flat(given) : given;
        };
    }

    /** Puts results, which came in the counterparts, into what was given. */
    static void giveBack(List<?> given, List<Object> plain) {
        for (int i = 0; i < plain.size(); i++) {
            if (plain.get(i) != given.get(i) && given.get(i).getClass().isArray()) {
                giveBack(given.get(i), plain.get(i), 0);
            }
        }
    }

    // ---- Arrays
    // ---------------------------------------------------------------------------------------------

    /** What the elements of the innermost arrays are. */
    private static Class<?> leaf(Class<?> type) {
        return type.isArray() ? leaf(type.componentType()) : type;
    }

    private static boolean isComplex(Class<?> leaf) {
        return leaf == Scomplex.class || leaf == Dcomplex.class;
    }

    private static boolean hasCounterpart(Object given) {
        Class<?> type = given.getClass();
        Class<?> leaf = leaf(type);
        boolean isNested = type.isArray() && type.componentType().isArray();
        return type.isArray() &&
            (isComplex(leaf) || leaf == char.class || isNested && leaf.isPrimitive());
    }

    /** Numbers of the counterpart for each element. */
    private static int width(Class<?> leaf) {
        return isComplex(leaf) ? 2 : 1;
    }

    private static Class<?> counterpart(Class<?> leaf) {
        if (leaf == Scomplex.class) {
            return float.class;
        }
        if (leaf == Dcomplex.class) {
            return double.class;
        }
        return leaf == char.class ? byte.class : leaf;
    }

    private static Object flat(Object given) {
        Class<?> leaf = leaf(given.getClass());
        Object made = Array.newInstance(counterpart(leaf), count(given) * width(leaf));
        take(given, made, 0);
        return made;
    }

    /** Elements of all innermost arrays. */
    private static int count(Object given) {
        if (given == null) {
            return 0;
        }
        if (!given.getClass().componentType().isArray()) {
            return Array.getLength(given);
        }
        int sum = 0;
        for (Object row : (Object[]) given) {
            sum = Math.addExact(sum, count(row));
        }
        return sum;
    }

    /** Fills the flat array from this index on; gives where it ended. */
    private static int take(Object given, Object flat, int from) {
        int at = from;
        switch (given) {
        case null -> {}
        case char[] letters -> {
            for (char letter : letters) {
                ((byte[]) flat)[at++] = (byte) letter;
            }
        }
        case Scomplex[] numbers -> {
            for (Scomplex number : numbers) {
                ((float[]) flat)[at++] = number == null ? 0 : number.r;
                ((float[]) flat)[at++] = number == null ? 0 : number.i;
            }
        }
        case Dcomplex[] numbers -> {
            for (Dcomplex number : numbers) {
                ((double[]) flat)[at++] = number == null ? 0 : number.r;
                ((double[]) flat)[at++] = number == null ? 0 : number.i;
            }
        }
        case Object[] rows -> {
            for (Object row : rows) {
                at = take(row, flat, at);
            }
        }
        default -> {
            System.arraycopy(given, 0, flat, at, Array.getLength(given));
            at += Array.getLength(given);
        }
        }
        return at;
    }

    /** The other way. */
    static int giveBack(Object given, Object flat, int from) {
        int at = from;
        switch (given) {
        case null -> {}
        case char[] letters -> {
            for (int i = 0; i < letters.length; i++) {
                letters[i] = (char) (((byte[]) flat)[at++] & 0xff);
            }
        }
        case Scomplex[] numbers -> {
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = numbers[i] == null ? new Scomplex() : numbers[i];
                numbers[i].r = ((float[]) flat)[at++];
                numbers[i].i = ((float[]) flat)[at++];
            }
        }
        case Dcomplex[] numbers -> {
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = numbers[i] == null ? new Dcomplex() : numbers[i];
                numbers[i].r = ((double[]) flat)[at++];
                numbers[i].i = ((double[]) flat)[at++];
            }
        }
        case Object[] rows -> {
            for (Object row : rows) {
                at = giveBack(row, flat, at);
            }
        }
        default -> {
            System.arraycopy(flat, at, given, 0, Array.getLength(given));
            at += Array.getLength(given);
        }
        }
        return at;
    }

    // ---- What functions are given
    // ---------------------------------------------------------------------------------------------

    /** An array for the elements of a parameter, of arrays where it has several dimensions. */
    static Object places(Parameter one, long[] shape) {
        int[] extents = Arrays.stream(shape).mapToInt(Math::toIntExact).toArray();
        if (one.isText) {
            return new String[extents[0]];
        }
        Object made = Array.newInstance(component(one), extents);
        Class<?> items = one.element.component;
        giveBack(made, Array.newInstance(items, count(made) * one.element.parts()), 0);
        return made;
    }

    private static Class<?> component(Parameter one) {
        if (!one.element.isComplex()) {
            return one.element.component;
        }
        return one.element.component == float.class ? Scomplex.class : Dcomplex.class;
    }
}
