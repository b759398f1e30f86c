// Size expressions of interfaces, evaluated for the arguments of a call.
package org.farcall;

import java.util.function.ToLongFunction;

/**
 * The expressions of spec/idl.md, section 5, over whole numbers. They say how an array of the caller's is laid out; the
 * library works out the same for itself and refuses a call where the two differ.
 */
final class Expression {
    private static final String[][] LEVELS = {
        {"||"},
        {"&&"},
        {"==", "!="},
        {"<=", ">=", "<<", ">>", "<", ">"},
        {"+", "-"},
        {"*", "/", "%"},
    };
    private static final int DEPTH_MAX = 64;

    private final String text;
    private final ToLongFunction<String> names;
    private int at;
    private int depth;

    private Expression(String text, ToLongFunction<String> names) {
        this.text = text;
        this.names = names;
    }

    /** Its value; `names` gives that of a parameter, or throws. Anything that is not understood is
     * an ArithmeticException. */
    static long value(String text, ToLongFunction<String> names) {
        Expression expression = new Expression(text, names);
        long value = expression.conditional();
        if (!expression.rest().isEmpty()) {
            throw expression.wrong();
        }
        return value;
    }

    /** What is not understood, or no whole number. */
    private ArithmeticException wrong() {
        return new ArithmeticException("the size \"" + text + "\" cannot be worked out here");
    }

    /** What is left, from the next character that is no blank on. */
    private String rest() {
        while (at < text.length() && text.charAt(at) == ' ') {
            at++;
        }
        return text.substring(at);
    }

    /** Takes a word if it is next. */
    private boolean take(String word) {
        if (!rest().startsWith(word)) {
            return false;
        }
        at += word.length();
        return true;
    }

    /** Takes a word that must be next. */
    private void expect(String word) {
        if (!take(word)) {
            throw wrong();
        }
    }

    /** `c ? a : b`, of which both sides are worked out. */
    private long conditional() {
        if (++depth > DEPTH_MAX) {
            throw wrong();
        }
        long value = binary(0);
        if (take("?")) {
            long yes = conditional();
            expect(":");
            long no = conditional();
            value = value != 0 ? yes : no;
        }
        depth--;
        return value;
    }

    /** Operators of one level and all that bind more closely. */
    private long binary(int level) {
        if (level == LEVELS.length) {
            return power();
        }
        long value = binary(level + 1);
        for (String operator = operator(level); operator != null; operator = operator(level)) {
            value = applied(operator, value, binary(level + 1));
        }
        return value;
    }

    /** Takes an operator of this level; what is longer, as `<<` for `<`, stands first. */
    private String operator(int level) {
        for (String one : LEVELS[level]) {
            if (take(one)) {
                return one;
            }
        }
        return null;
    }

    /** Overflow is an error, as everywhere in sizes. */
    private long applied(String operator, long a, long b) {
        return switch (operator) {
            case "||" -> a != 0 || b != 0 ? 1 : 0;
            case "&&" -> a != 0 && b != 0 ? 1 : 0;
            case "==" -> a == b ? 1 : 0;
            case "!=" -> a != b ? 1 : 0;
            case "<" -> a < b ? 1 : 0;
            case "<=" -> a <= b ? 1 : 0;
            case ">" -> a > b ? 1 : 0;
            case ">=" -> a >= b ? 1 : 0;
            case "<<" -> Math.multiplyExact(a, 1L << b);
            case ">>" -> a >> b;
            case "+" -> Math.addExact(a, b);
            case "-" -> Math.subtractExact(a, b);
            case "*" -> Math.multiplyExact(a, b);
            case "/" -> a / b;
            default -> a % b;
        };
    }

    /** `^` binds to the right. */
    private long power() {
        long base = unary();
        if (!take("^")) {
            return base;
        }
        long value = 1;
        for (long exponent = power(); exponent > 0; exponent--) {
            value = Math.multiplyExact(value, base);
        }
        return value;
    }

    /** A sign, a negation, parentheses. */
    private long unary() {
        if (take("-")) {
            return Math.negateExact(unary());
        }
        if (rest().startsWith("!") && !rest().startsWith("!=")) {
            at++;
            return unary() == 0 ? 1 : 0;
        }
        if (take("(")) {
            long value = conditional();
            expect(")");
            return value;
        }
        return atom();
    }

    /** A number, a parameter, a function of some. */
    private long atom() {
        String rest = rest();
        int end = 0;
        while (end < rest.length() &&
               (Character.isLetterOrDigit(rest.charAt(end)) || rest.charAt(end) == '_')) {
            end++;
        }
        String word = rest.substring(0, end);
        at += end;
        if (word.isEmpty() || rest().startsWith("[") || rest().startsWith(".")) {
            throw wrong();
        }
        if (Character.isDigit(word.charAt(0))) {
            try {
                return Long.parseLong(word);
            } catch (NumberFormatException error) {
                throw wrong();
            }
        }
        return take("(") ? function(word) : names.applyAsLong(word);
    }

    /** min, max, abs. */
    private long function(String name) {
        long value = conditional();
        boolean isLarger = name.equals("max");
        if (name.equals("abs")) {
            value = Math.absExact(value);
        } else if (!isLarger && !name.equals("min")) {
            throw wrong();
        }
        while (take(",")) {
            long other = conditional();
            value = isLarger ? Math.max(value, other) : Math.min(value, other);
        }
        expect(")");
        return value;
    }
}
