// Types of elements: the numbers of enum farcall_element, their sizes, and Java's types for them.
package org.farcall;

import java.lang.foreign.MemorySegment;
import java.util.Map;

/**
 * Types of elements. Java has no unsigned types and no complex numbers: unsigned elements lie in the signed type of the
 * same size, bit by bit, and complex ones are pairs (real part, imaginary part) in an array of twice the length.
 */
public enum Element {
    /** One byte of text: byte. */
    CHAR(Numbers.CHAR, 1, byte.class, "char"),
    /** byte. */
    INT8(Numbers.INT8, 1, byte.class, "int8"),
    /** byte, whose bits are meant without sign. */
    UINT8(Numbers.UINT8, 1, byte.class, "uint8"),
    /** short. */
    INT16(Numbers.INT16, 2, short.class, "short"),
    /** short, whose bits are meant without sign. */
    UINT16(Numbers.UINT16, 2, short.class, "uint16"),
    /** int. */
    INT32(Numbers.INT32, 4, int.class, "int"),
    /** int, whose bits are meant without sign. */
    UINT32(Numbers.UINT32, 4, int.class, "uint32"),
    /** long. */
    INT64(Numbers.INT64, 8, long.class, "long"),
    /** long, whose bits are meant without sign. */
    UINT64(Numbers.UINT64, 8, long.class, "uint64"),
    /** float. */
    FLOAT32(Numbers.FLOAT32, 4, float.class, "float"),
    /** double. */
    FLOAT64(Numbers.FLOAT64, 8, double.class, "double"),
    /** Pairs of float. */
    COMPLEX64(Numbers.COMPLEX64, 8, float.class, "scomplex"),
    /** Pairs of double. */
    COMPLEX128(Numbers.COMPLEX128, 16, double.class, "dcomplex"),
    /** A struct of the interface: bytes, as C lays them out. */
    STRUCT(Numbers.STRUCT, 0, byte.class, "struct");

    private static final Map<String, Element> BY_TYPE = new java.util.HashMap<>();

    static {
        for (Element one : values()) {
            BY_TYPE.put(one.type, one);
        }
    }

    /** Of enum farcall_element. */
    final int number;
    /** Bytes of an element; of a struct the interface says how many. */
    final int bytes;
    /** What an array of Java's has for it. */
    final Class<?> component;
    /** The word of interface files. */
    final String type;

    Element(int number, int bytes, Class<?> component, String type) {
        this.number = number;
        this.bytes = bytes;
        this.component = component;
        this.type = type;
    }

    /** The element of an interface's type; null for text, files and structs. */
    static Element of(String type) {
        Element found = BY_TYPE.get(type);
        return found == STRUCT ? null : found;
    }

    boolean isComplex() {
        return this == COMPLEX64 || this == COMPLEX128;
    }

    boolean isReal() {
        return this == FLOAT32 || this == FLOAT64;
    }

    boolean isWhole() {
        return number >= INT8.number && number <= UINT64.number;
    }

    boolean isUnsigned() {
        return this == UINT8 || this == UINT16 || this == UINT32 || this == UINT64;
    }

    /** How many items of Java's one element has. */
    int parts() {
        return isComplex() ? 2 : 1;
    }

    /** An array of Java's in the words of messages: "double[]". */
    String javaType() {
        String pairs = isComplex() ? " (pairs of real and imaginary part)" : "";
        return component.getName() + "[]" + pairs;
    }

    /** A primitive array of Java's as memory; null for anything else. */
    static MemorySegment memoryOf(Object array) {
        return switch (array) {
            case double[] one -> MemorySegment.ofArray(one);
            case float[] one -> MemorySegment.ofArray(one);
            case long[] one -> MemorySegment.ofArray(one);
            case int[] one -> MemorySegment.ofArray(one);
            case short[] one -> MemorySegment.ofArray(one);
            case byte[] one -> MemorySegment.ofArray(one);
            case null, default -> null;
        };
    }
}
