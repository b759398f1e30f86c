// One parameter of a routine, as the interface describes it.
package org.farcall;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A parameter: its name, which way it goes, its type and its extents, as `farcall show` says them.
 * Immutable. */
public final class Parameter {
    /** Which way a parameter goes. */
    public enum Mode {
        /** To the routine. */
        IN,
        /** From the routine. */
        OUT,
        /** Both ways. */
        INOUT,
        /** Memory of the routine's own, which no caller sees. */
        WORK
    }

    /** A struct: its size, and where its fields are, as C lays them out. */
    public record Struct(String name, int bytes, int alignment, List<Field> fields) {}

    /** A field of a struct: `count` elements at a distance of `offset` bytes from its begin. */
    public record Field(String name, Element element, int count, int offset) {}

    final int index;
    private final String name;
    private final Mode mode;
    private final String type;
    private final Map<String, Object> described;
    final Element element;
    private final Struct struct;
    final boolean isArray;
    final boolean isCallback;
    /** Of a callback's: the routine's integer that sizes name, which no function is given. */
    final boolean isCaptured;
    final boolean isText;
    final boolean isFile;
    /** Whether it is declared as one value: it comes back as a number, and not as an array of one.
     */
    final boolean isSingle;
    private final List<String> extents;
    /** Which extents are bounds, so that results may be smaller. */
    final boolean[] openEnds;
    private final List<Parameter> parameters;
    /** Of callbacks: what must be given for the rest to follow. */
    final List<String> positional;

    Parameter(int index, Map<String, Object> described, Map<String, Struct> structs) {
        this.index = index;
        this.described = described;
        name = (String) described.get("name");
        mode = Mode.valueOf(text("mode", "in").toUpperCase(java.util.Locale.ROOT));
        type = text("type", "function");
        struct = structs.get(type);
        element = struct != null ? Element.STRUCT : Element.of(type);
        String shape = text("shape", "scalar");
        isArray = shape.equals("array");
        isCallback = shape.equals("callback");
        isCaptured = Boolean.TRUE.equals(described.get("captured"));
        isFile = type.equals("filename");
        isText = type.equals("string") || isFile;
        List<String> sizes = new ArrayList<>();
        List<?> dimensions = (List<?>) described.getOrDefault("dimensions", List.of());
        openEnds = new boolean[dimensions.size()];
        for (Object one : dimensions) {
            Map<?, ?> dimension = (Map<?, ?>) one;
            openEnds[sizes.size()] = dimension.containsKey("end");
            Object end = dimension.get("end");
            sizes.add(String.valueOf(end != null ? end : dimension.get("size")));
        }
        extents = List.copyOf(sizes);
        isSingle = !isArray || sizes.stream().allMatch("1"::equals);
        parameters = listed((List<?>) described.getOrDefault("parameters", List.of()), structs);
        positional = ((List<?>) described.getOrDefault("positional", List.of()))
                         .stream()
                         .map(String::valueOf)
                         .toList();
    }

    static List<Parameter> listed(List<?> described, Map<String, Struct> structs) {
        List<Parameter> made = new ArrayList<>();
        for (Object one : described) {
            @SuppressWarnings("unchecked")
            Map<String, Object> members = (Map<String, Object>) one;
            made.add(new Parameter(made.size(), members, structs));
        }
        return List.copyOf(made);
    }

    static Map<String, Struct> structs(List<?> described) {
        Map<String, Struct> made = new HashMap<>();
        for (Object one : described) {
            Map<?, ?> members = (Map<?, ?>) one;
            List<Field> fields = new ArrayList<>();
            for (Object field : (List<?>) members.get("fields")) {
                Map<?, ?> said = (Map<?, ?>) field;
                Element element = Element.of((String) said.get("type"));
                fields.add(new Field((String) said.get("name"), element, whole(said.get("count")),
                    whole(said.get("offset"))));
            }
            String name = (String) members.get("name");
            made.put(name, new Struct(name, whole(members.get("bytes")),
                               whole(members.get("alignment")), List.copyOf(fields)));
        }
        return made;
    }

    private static int whole(Object number) {
        return number == null ? 1 : ((Double) number).intValue();
    }

    private String text(String key, String otherwise) {
        Object value = described.get(key);
        return value == null ? otherwise : value.toString();
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** Which way it goes. */
    public Mode mode() {
        return mode;
    }

    /** Its type in the words of interface files: "double", "string", "filename", "function", or the
     * name of a struct. */
    public String type() {
        return type;
    }

    /** The type of its elements; null of text, files and functions. */
    public Element element() {
        return element;
    }

    /** Its struct; null of everything else. */
    public Struct struct() {
        return struct;
    }

    /** Its extents in logical order, each an expression of other parameters; empty of what is not
     * an array. */
    public List<String> extents() {
        return extents;
    }

    /** Whether it is stored by columns, as Fortran stores matrices. */
    public boolean isColumnOrder() {
        return "column".equals(described.get("order"));
    }

    /** What it is, in words. */
    public String doc() {
        return text("doc", "");
    }

    /** Its unit. */
    public String unit() {
        return text("unit", "");
    }

    /** What it is if it is left out, as an expression; null if there is no default. */
    public String defaultValue() {
        return text("default", null);
    }

    /** Of a function: its own parameters. */
    public List<Parameter> parameters() {
        return parameters;
    }

    /** Whether it is an argument of the caller's. */
    public boolean isInput() {
        return mode == Mode.IN || mode == Mode.INOUT;
    }

    /** Whether it is a result. */
    public boolean isOutput() {
        return mode == Mode.OUT || mode == Mode.INOUT;
    }

    /** Bytes of an element. */
    int elementBytes() {
        return struct != null ? struct.bytes : element.bytes;
    }

    /** The expression of a dimension's `size`, `start`, `end` or `stride`; null if there is none.
     */
    String dimension(int axis, String key) {
        Object said = ((Map<?, ?>) ((List<?>) described.get("dimensions")).get(axis)).get(key);
        return said == null ? null : said.toString();
    }

    /** What a caller passes for it, in the words of messages. */
    String wanted() {
        if (isCallback) {
            return "a Callback";
        }
        if (isText) {
            String one = isFile ? "Path" : "String";
            return isArray ? one + "[]" : "a " + one;
        }
        if (struct != null) {
            return "byte[] or a MemorySegment, " + struct.bytes + " bytes for each " + struct.name;
        }
        return isArray ? element.javaType() : "one " + element.component.getName();
    }

    /** Its declaration in an interface file. */
    @Override
    public String toString() {
        return text("idl", name);
    }
}
