// What a client knows of a routine: its parameters, and which go by position.
package org.farcall;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A routine's interface, as the library describes it in JSON (spec/idl.md, section 7.3). */
final class Interface {
    final String name;
    final String fullName;
    final List<Parameter> parameters;
    /** What goes by position: arrays, and what they do not determine; then what has a default. */
    final List<Parameter> positional = new ArrayList<>();
    /** Results, in order. */
    final List<Parameter> outputs;
    private final Map<String, Parameter> byName = new HashMap<>();
    /** In lower case; null where two names differ by case alone. */
    private final Map<String, Parameter> folded = new HashMap<>();

    Interface(String json) {
        @SuppressWarnings("unchecked")
        Map<String, Object> described = (Map<String, Object>) Json.read(json);
        name = (String) described.get("name");
        fullName = (String) described.get("full_name");
        Map<String, Parameter.Struct> structs =
            Parameter.structs((List<?>) described.getOrDefault("structs", List.of()));
        parameters =
            Parameter.listed((List<?>) described.getOrDefault("parameters", List.of()), structs);
        for (Parameter one : parameters) {
            if (one.mode() != Parameter.Mode.WORK) {
                byName.put(one.name(), one);
                String fold = one.name().toLowerCase(Locale.ROOT);
                folded.put(fold, folded.containsKey(fold) ? null : one);
            }
        }
        for (String key : List.of("positional", "following")) {
            for (Object one : (List<?>) described.getOrDefault(key, List.of())) {
                positional.add(byName.get((String) one));
            }
        }
        outputs = parameters.stream().filter(Parameter::isOutput).toList();
    }

    /** The parameter of this name, in any case where that is unique; null if there is none. */
    Parameter find(String given) {
        Parameter exact = byName.get(given);
        return exact != null ? exact : folded.get(given.toLowerCase(Locale.ROOT));
    }

    /** Names for messages. */
    static String names(List<Parameter> parameters) {
        return parameters.isEmpty()
            ? "none"
            : String.join(", ", parameters.stream().map(Parameter::name).toList());
    }

    List<Parameter> visible() {
        return parameters.stream().filter(one -> one.mode() != Parameter.Mode.WORK).toList();
    }
}
