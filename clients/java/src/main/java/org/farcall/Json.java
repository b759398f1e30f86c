// Reads the JSON in which the library describes interfaces.
package org.farcall;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A reader of RFC 8259 for text that libfarcall made: objects as Map, arrays as List, text as String, numbers as Double,
 * true, false, null. The JDK has none, and a jar of its own would be the client's only dependency.
 */
final class Json {
    /** Deeper nesting is no interface. */
    private static final int DEPTH_MAX = 64;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** The one value that a text holds. */
    static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        json.skipBlanks();
        if (json.at != text.length()) {
            throw json.wrong("something follows the value");
        }
        return value;
    }

    /** What is no JSON, and where. */
    private FarcallException wrong(String what) {
        return FarcallException.of(
            ErrorKind.PROTOCOL, "read an interface", what, null, "at", Integer.toString(at));
    }

    private void skipBlanks() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    /** The next character that is no blank, which stays. */
    private char next() {
        skipBlanks();
        if (at == text.length()) {
            throw wrong("it ends too early");
        }
        return text.charAt(at);
    }

    /** Takes this character. */
    private void expect(char wanted) {
        if (next() != wanted) {
            throw wrong("there is no " + wanted);
        }
        at++;
    }

    /** Any value. */
    private Object value(int depth) {
        if (depth > DEPTH_MAX) {
            throw wrong("it is nested too deeply");
        }
        return switch (next()) {
            case '{' -> object(depth);
            case '[' -> array(depth);
            case '"' -> string();
            case 't' -> word("true", Boolean.TRUE);
            case 'f' -> word("false", Boolean.FALSE);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    /** Members in their order. */
    private Map<String, Object> object(int depth) {
        Map<String, Object> members = new LinkedHashMap<>();
        expect('{');
        while (next() != '}') {
            if (!members.isEmpty()) {
                expect(',');
                next();
            }
            String name = string();
            expect(':');
            members.put(name, value(depth + 1));
        }
        at++;
        return members;
    }

    /** Items in their order. */
    private List<Object> array(int depth) {
        List<Object> items = new ArrayList<>();
        expect('[');
        while (next() != ']') {
            if (!items.isEmpty()) {
                expect(',');
            }
            items.add(value(depth + 1));
        }
        at++;
        return items;
    }

    /** One of true, false, null. */
    private Object word(String word, Object meaning) {
        if (!text.startsWith(word, at)) {
            throw wrong("there is no value");
        }
        at += word.length();
        return meaning;
    }

    /** Interfaces have no number that a double does not hold. */
    private Double number() {
        int begin = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        try {
            return Double.valueOf(text.substring(begin, at));
        } catch (NumberFormatException error) {
            throw wrong("there is no value");
        }
    }

    /** A text with its escapes resolved. */
    private String string() {
        expect('"');
        StringBuilder said = new StringBuilder();
        while (at < text.length() && text.charAt(at) != '"') {
            char one = text.charAt(at++);
            said.append(one == '\\' ? escaped() : one);
        }
        if (at == text.length()) {
            throw wrong("a text has no end");
        }
        at++;
        return said.toString();
    }

    /** What stands behind a backslash. */
    private char escaped() {
        if (at == text.length()) {
            throw wrong("a text has no end");
        }
        char one = text.charAt(at++);
        return switch (one) {
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> unicode();
            default -> one;
        };
    }

    /** Four hexadecimal digits; of a pair of surrogates, each by itself. */
    private char unicode() {
        try {
            char one = (char) Integer.parseInt(text, at, at + 4, 16);
            at += 4;
            return one;
        } catch (NumberFormatException | IndexOutOfBoundsException error) {
            throw wrong("a text has an escape without four digits");
        }
    }
}
