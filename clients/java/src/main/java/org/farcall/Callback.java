// A function of the caller's that a routine calls while it runs.
package org.farcall;

import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.function.ToDoubleFunction;
import java.util.function.UnaryOperator;

/**
 * A function that is passed to a routine. It gets the IN and INOUT parameters of the callback, in order: Integer, Long,
 * Double, …, Complex, Character, String, String[]; arrays of one dimension as double[], int[], … of its own, of more as
 * {@link NdArray}. It returns what is OUT, and INOUT numbers and texts: one value, or an Object[] in order; null where there
 * is none. INOUT arrays it changes in place.
 *
 * <p>It runs in the thread that waits for the call; for calls that are submitted, in a thread of the call's own. What it
 * throws fails the call: the exception of the call has it as its cause. It may make calls itself.
 */
@FunctionalInterface
public interface Callback {
    /** Runs it. */
    Object call(Object[] arguments) throws Exception;

    /** Any function; for lambdas in argument lists, whose type Java cannot know otherwise. */
    static Callback of(Callback function) {
        return function;
    }

    /** A function of one real number. */
    static Callback real(DoubleUnaryOperator function) {
        return arguments -> function.applyAsDouble(number(arguments, 0, 1));
    }

    /** A function of two real numbers. */
    static Callback real(DoubleBinaryOperator function) {
        return arguments
            -> function.applyAsDouble(number(arguments, 0, 2), number(arguments, 1, 2));
    }

    /** A function of a vector that gives a vector of the same length: numbers that say how long it
     * is are left out. */
    static Callback vector(UnaryOperator<double[]> function) {
        return arguments -> function.apply(vector(arguments));
    }

    /** A function of a vector that gives a number. */
    static Callback norm(ToDoubleFunction<double[]> function) {
        return arguments -> function.applyAsDouble(vector(arguments));
    }

    private static double number(Object[] arguments, int index, int count) {
        if (arguments.length != count || !(arguments[index] instanceof Number number)) {
            String message = "the routine calls it with " + arguments.length +
                             " arguments, and it takes " + count + " real numbers";
            throw FarcallException.of(ErrorKind.INVALID_ARGUMENT, "run a callback", message,
                "pass Callback.of(arguments -> …)");
        }
        return number.doubleValue();
    }

    private static double[] vector(Object[] arguments) {
        for (Object one : arguments) {
            if (one instanceof double[] vector) {
                return vector;
            }
        }
        String message = "the routine calls it with no vector of double";
        throw FarcallException.of(ErrorKind.INVALID_ARGUMENT, "run a callback", message,
            "pass Callback.of(arguments -> …)");
    }
}
