// From Java's values to the arguments of a call (farcall_argument, spec/c-abi.md, section 4).
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.farcall.Numbers.ARRAY;
import static org.farcall.Numbers.CALLBACK;
import static org.farcall.Numbers.COMPLEX;
import static org.farcall.Numbers.INTEGER;
import static org.farcall.Numbers.INTO;
import static org.farcall.Numbers.IN_PLACE;
import static org.farcall.Numbers.NULL;
import static org.farcall.Numbers.RAW;
import static org.farcall.Numbers.REAL;
import static org.farcall.Numbers.TEXT;
import static org.farcall.Numbers.TEXTS;
import static org.farcall.Numbers.URL;

import java.io.File;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.net.URI;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Fills the argument array of one call. Everything that an argument points to lies in the call's
 * scratch memory. */
final class Filler {
    static final int ARGUMENT_BYTES = 128;
    // Members of farcall_argument.
    private static final int ELEMENT = 4;
    private static final int VALUE = 8;
    private static final int SECOND = 16;
    private static final int DATA = 24;
    private static final int RANK = 32;
    private static final int SHAPE = 40;
    private static final int STRIDES = 48;
    private static final int DESTINATION = 56;
    private static final int INTO_ELEMENT = 60;
    private static final int INTO_DATA = 64;
    private static final int INTO_RANK = 72;
    private static final int INTO_SHAPE = 80;
    private static final int INTO_STRIDES = 88;

    /** Where a result goes: an array of the caller's, and the memory that the library writes to. */
    record Place(Operand operand, long address) {}

    private static final MemorySegment MEMORY = Native.MEMORY;

    private final String routine;
    private final Scratch scratch;
    /** The argument array. */
    final long slots;
    /** Functions that it passes. */
    List<Passed> functions = List.of();
    /** Where results go, by parameter; null where nobody gave a place. */
    final Place[] places;
    /** Native memory that the call uses where it lies: the collector must not free it before the
     * call's end. */
    private List<Operand> lent = List.of();
    /** Files that results are written to, by parameter: a Path, or an array of them; null if there
     * are none. */
    private Object[] files;

    Filler(Interface described, Scratch scratch) {
        this.routine = described.fullName;
        this.scratch = scratch;
        int count = described.parameters.size();
        slots = scratch.zeroed((long) ARGUMENT_BYTES * Math.max(count, 1));
        places = new Place[count];
    }

    /** Where the argument of a parameter lies. */
    private long slot(Parameter parameter) {
        return slots + (long) ARGUMENT_BYTES * parameter.index;
    }

    /** An argument of a kind that the parameter does not take. */
    private FarcallException refused(Parameter parameter, Object value, String advice) {
        String message = "the interface wants " + parameter.wanted() + " (" + parameter.type() +
                         "), not " + Scalars.shown(value);
        return Operand.refused(routine, parameter, message, advice);
    }

    /** One IN or INOUT argument; with `inPlace` the result of an INOUT array goes over it. */
    void fill(Parameter parameter, Object value, boolean inPlace) {
        long slot = slot(parameter);
        if (parameter.isCallback) {
            function(slot, parameter, value);
        } else if (parameter.isFile) {
            files(slot, parameter, value);
        } else if (parameter.isText) {
            texts(slot, parameter, value);
        } else if (value == null) {
            // Inferred, defaulted, or not referred to. The library says if none of them is so.
            return;
        } else if (value instanceof URI address && parameter.isArray) {
            kind(slot, URL);
            put(slot, address.toString().getBytes(StandardCharsets.UTF_8));
        } else if (parameter.isArray) {
            array(slot, parameter, value, inPlace);
        } else if (parameter.struct() != null) {
            struct(slot, parameter, value);
        } else {
            number(slot, parameter, value);
        }
    }

    /** Says which member of `value` counts. */
    private static void kind(long slot, int kind) {
        MEMORY.set(JAVA_INT, slot, kind);
    }

    /** Text or bytes as the value. */
    private void put(long slot, byte[] bytes) {
        text(slot + VALUE, bytes);
    }

    /** A farcall_text. */
    private void text(long place, byte[] bytes) {
        MEMORY.set(JAVA_LONG, place, scratch.bytes(bytes));
        MEMORY.set(JAVA_LONG, place + 8, bytes.length);
    }

    // ---- Functions, files and texts
    // ------------------------------------------------------------------------------------

    /** A function is known to the library by one C function for all, and a number. */
    private void function(long slot, Parameter parameter, Object value) {
        if (value == null) {
            kind(slot, NULL);
            return;
        }
        if (!(value instanceof Callback function)) {
            throw refused(parameter, value, "pass Callback.of(arguments -> …)");
        }
        Passed passed = new Passed(routine, parameter, function);
        if (functions.isEmpty()) {
            functions = new ArrayList<>();
        }
        functions.add(passed);
        kind(slot, CALLBACK);
        MEMORY.set(JAVA_LONG, slot + VALUE, Native.CALLBACK);
        MEMORY.set(JAVA_LONG, slot + SECOND, passed.number());
    }

    /** Files go by their paths, the content of one as bytes. */
    private void files(long slot, Parameter parameter, Object value) {
        if (value == null) {
            kind(slot, NULL);
        } else if (parameter.isArray) {
            Object[] all = listed(parameter, value);
            byte[][] paths = new byte[all.length][];
            for (int i = 0; i < all.length; i++) {
                paths[i] = all[i] == null ? null : path(parameter, all[i]);
            }
            putAll(slot, paths);
        } else if (value instanceof byte[] content) {
            kind(slot, RAW);
            put(slot, content);
        } else {
            kind(slot, TEXT);
            put(slot, path(parameter, value));
        }
        if (parameter.isOutput() && value != null) {
            files = files == null ? new Object[places.length] : files;
            files[parameter.index] = value;
        }
    }

    /** Where an OUT file goes. */
    void file(Parameter parameter, Object path) {
        files(slot(parameter), parameter, path);
    }

    /** Where the caller has the file of a result. */
    Object fileOf(Parameter parameter) {
        return files[parameter.index];
    }

    /** A path in whatever form Java has it. */
    private byte[] path(Parameter parameter, Object value) {
        String path = switch (value) {
            case Path one -> one.toString();
            case File one -> one.toString();
            case String one -> one;
            default -> throw refused(parameter, value, "pass its path, or its content as byte[]");
        };
        if (path.indexOf('\0') >= 0) {
            throw Operand.refused(routine, parameter, "the path contains a NUL", null);
        }
        return path.getBytes(StandardCharsets.UTF_8);
    }

    /** The items of what may be a list or an array. */
    private Object[] listed(Parameter parameter, Object value) {
        return switch (value) {
            case List<?> list -> list.toArray();
            case byte[][] texts -> texts;
            case Object[] array -> array;
            default -> throw refused(parameter, value, null);
        };
    }

    /** One text or several; null is NULL. */
    private void texts(long slot, Parameter parameter, Object value) {
        if (!parameter.isArray) {
            kind(slot, TEXT);
            if (value != null) {
                put(slot, encoded(parameter, value));
            }
            return;
        }
        if (value == null) {
            kind(slot, NULL);
            return;
        }
        Object[] all = listed(parameter, value);
        byte[][] texts = new byte[all.length][];
        for (int i = 0; i < all.length; i++) {
            texts[i] = all[i] == null ? null : encoded(parameter, all[i]);
        }
        putAll(slot, texts);
    }

    /** The bytes of a text, which need not be UTF-8 if they are given as bytes. */
    private byte[] encoded(Parameter parameter, Object value) {
        return switch (value) {
            case String text -> text.getBytes(StandardCharsets.UTF_8);
            case byte[] bytes -> bytes;
            default -> throw refused(parameter, value, null);
        };
    }

    /** An array of farcall_text; what is null stays zero, which is NULL. */
    private void putAll(long slot, byte[][] texts) {
        long items = scratch.zeroed(16L * Math.max(texts.length, 1));
        for (int i = 0; i < texts.length; i++) {
            if (texts[i] != null) {
                text(items + 16L * i, texts[i]);
            }
        }
        kind(slot, TEXTS);
        MEMORY.set(JAVA_LONG, slot + VALUE, items);
        MEMORY.set(JAVA_LONG, slot + SECOND, texts.length);
    }

    // ---- Numbers
    // ---------------------------------------------------------------------------------------------

    /** A number by value, checked against the range of the type. */
    private void number(long slot, Parameter parameter, Object value) {
        Element type = parameter.element;
        if (type == Element.CHAR) {
            kind(slot, TEXT);
            put(slot, new byte[] {Scalars.character(routine, parameter, value)});
        } else if (value instanceof BigInteger && type == Element.UINT64) {
            kind(slot, RAW);
            put(slot, java.nio.ByteBuffer.allocate(8)
                          .order(ByteOrder.nativeOrder())
                          .putLong(Scalars.whole(routine, parameter, value))
                          .array());
        } else if (type.isWhole()) {
            kind(slot, INTEGER);
            MEMORY.set(JAVA_LONG, slot + VALUE, Scalars.whole(routine, parameter, value));
        } else {
            Complex number = Scalars.number(routine, parameter, value);
            kind(slot, type.isComplex() ? COMPLEX : REAL);
            MEMORY.set(JAVA_DOUBLE, slot + VALUE, number.real());
            if (type.isComplex()) {
                MEMORY.set(JAVA_DOUBLE, slot + SECOND, number.imaginary());
            }
        }
    }

    /** A struct by its bytes. */
    private void struct(long slot, Parameter parameter, Object value) {
        byte[] bytes = switch (value) {
            case byte[] given -> given;
            case MemorySegment memory -> memory.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
            default -> throw refused(parameter, value, null);
        };
        if (bytes.length != parameter.elementBytes()) {
            String message = bytes.length + " bytes, and one " + parameter.type() + " has " +
                             parameter.elementBytes();
            throw Operand.refused(routine, parameter, message, "pass " + parameter.wanted());
        }
        kind(slot, RAW);
        put(slot, bytes);
    }

    // ---- Arrays
    // ---------------------------------------------------------------------------------------------

    /** An array: native memory where it lies, anything else copied to memory that does not move. */
    private void array(long slot, Parameter parameter, Object value, boolean inPlace) {
        if (parameter.element == Element.CHAR && value instanceof String text) {
            kind(slot, TEXT);
            put(slot, text.getBytes(StandardCharsets.UTF_8));
            return;
        }
        if (parameter.isSingle && !value.getClass().isArray() &&
            !(value instanceof NdArray || value instanceof MemorySegment)) {
            single(slot, parameter, value);
            return;
        }
        Operand operand = operand(parameter, value, inPlace);
        long address = operand.isNative() ? lent(operand) : copied(operand);
        lay(slot, parameter, operand, address);
        if (inPlace) {
            MEMORY.set(JAVA_INT, slot + DESTINATION, IN_PLACE);
            places[parameter.index] = new Place(operand, address);
        }
    }

    /** One value for what is declared as an array of one, as INOUT numbers are. */
    private void single(long slot, Parameter parameter, Object value) {
        if (parameter.struct() != null) {
            throw refused(parameter, value, null);
        }
        long address = scratch.allocate(parameter.elementBytes());
        Scalars.write(routine, parameter, value, address);
        kind(slot, ARRAY);
        MEMORY.set(JAVA_INT, slot + ELEMENT, parameter.element.number);
        MEMORY.set(JAVA_LONG, slot + DATA, address);
        MEMORY.set(JAVA_LONG, slot + RANK, 1);
        MEMORY.set(JAVA_LONG, slot + SHAPE, scratch.longs(new long[] {1}));
    }

    /** An array in whatever form, or why it is none. */
    private Operand operand(Parameter parameter, Object value, boolean isDestination) {
        Operand operand = Operand.of(routine, parameter, value, isDestination);
        if (operand == null) {
            throw refused(parameter, value, null);
        }
        return operand;
    }

    /** Where native memory lies. It is kept: `Arena.ofAuto` frees what nothing refers to. */
    private long lent(Operand operand) {
        if (lent.isEmpty()) {
            lent = new ArrayList<>();
        }
        lent.add(operand);
        return operand.address();
    }

    /** Memory of the caller's that the call uses where it lies. */
    List<MemorySegment> lent() {
        return lent.isEmpty() ? List.of() : lent.stream().map(Operand::memory).toList();
    }

    /** Copies it, so that the collector may move the original. */
    private long copied(Operand operand) {
        long address = scratch.allocate(operand.bytes());
        operand.copyTo(address);
        return address;
    }

    /** Describes an array that lies at an address without gaps. */
    private void lay(long slot, Parameter parameter, Operand operand, long address) {
        kind(slot, ARRAY);
        MEMORY.set(JAVA_INT, slot + ELEMENT, parameter.element.number);
        MEMORY.set(JAVA_LONG, slot + DATA, address + operand.offset);
        MEMORY.set(JAVA_LONG, slot + RANK, operand.shape.length);
        MEMORY.set(JAVA_LONG, slot + SHAPE, scratch.longs(operand.shape));
        // Vectors lie the same way in either order.
        if (operand.shape.length > 1 || operand.hasGaps()) {
            MEMORY.set(JAVA_LONG, slot + STRIDES, scratch.longs(operand.strides()));
        }
    }

    /** Where the result of an OUT array goes, or that of an INOUT one that is not to go over its
     * argument. */
    void destination(Parameter parameter, Object value) {
        Operand operand = operand(parameter, value, true);
        long address = operand.isNative()  ? lent(operand)
                       : operand.hasGaps() ? copied(operand)
                                           : scratch.allocate(operand.bytes());
        long slot = slot(parameter);
        if (!parameter.isInput()) {
            lay(slot, parameter, operand, address);
        } else {
            MEMORY.set(JAVA_INT, slot + DESTINATION, INTO);
            MEMORY.set(JAVA_INT, slot + INTO_ELEMENT, parameter.element.number);
            MEMORY.set(JAVA_LONG, slot + INTO_DATA, address + operand.offset);
            MEMORY.set(JAVA_LONG, slot + INTO_RANK, operand.shape.length);
            MEMORY.set(JAVA_LONG, slot + INTO_SHAPE, scratch.longs(operand.shape));
            MEMORY.set(JAVA_LONG, slot + INTO_STRIDES, scratch.longs(operand.strides()));
        }
        places[parameter.index] = new Place(operand, address);
    }
}
