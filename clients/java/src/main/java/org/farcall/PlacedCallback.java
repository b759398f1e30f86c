// Functions of Ninf-G's kind: results are left in the arguments.
package org.farcall;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apgrid.grpc.ng.NgCallbackInterface;

/** A function that gets all parameters, with places for what is OUT, as {@link Callback}. */
final class PlacedCallback implements Callback {
    private final NgCallbackInterface function;

    PlacedCallback(NgCallbackInterface function) {
        this.function = function;
    }

    /** Without the interface there are no places. */
    @Override
    public Object call(Object[] arguments) {
        function.callback(new ArrayList<>(Arrays.asList(arguments)));
        return null;
    }

    /**
     * Runs it; gives what {@link Callback} returns. `values` are those of IN and INOUT parameters, flat, and get the INOUT
     * arrays as the function left them; `shapes` are those of all.
     */
    Object run(List<Parameter> parameters, Object[] values, long[][] shapes) {
        List<Object> given = new ArrayList<>();
        for (Parameter one : parameters) {
            given.add(argument(one, values[one.index], shapes[one.index]));
        }
        // The list is the function's, which may change it.
        function.callback(new ArrayList<>(given));
        List<Object> results = new ArrayList<>();
        for (Parameter one : parameters) {
            Object place = given.get(one.index);
            if (Passed.isWritten(one)) {
                values[one.index] = Counterparts.plain(place);
            } else if (one.isOutput()) {
                results.add(result(one, place));
            }
        }
        return results.size() > 1 ? results.toArray() : results.isEmpty() ? null : results.get(0);
    }

    private static Object argument(Parameter one, Object value, long[] shape) {
        if (value instanceof String[]) {
            return value;
        }
        Object places = Counterparts.places(one, shape);
        if (value instanceof String text) {
            ((String[]) places)[0] = text;
        } else if (value != null) {
            Counterparts.giveBack(places, value, 0);
        }
        return places;
    }

    /** What a place holds now. */
    private static Object result(Parameter one, Object place) {
        return one.isArray || one.isText ? Counterparts.plain(place)
                                         : Counterparts.plain(Array.get(place, 0));
    }
}
