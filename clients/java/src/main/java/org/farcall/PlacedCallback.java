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
     * Runs it; gives what {@link Callback} returns. `values` are those of IN and INOUT parameters, and get the INOUT arrays
     * as the function left them; `counts` say how many elements each parameter has.
     */
    Object run(List<Parameter> parameters, Object[] values, int[] counts) {
        List<Object> given = new ArrayList<>();
        for (Parameter one : parameters) {
            given.add(argument(one, values[one.index], counts[one.index]));
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

    private static Object argument(Parameter one, Object value, int count) {
        Object foreign = Counterparts.foreign(one, value);
        boolean isPlace = one.isArray || one.isOutput();
        if (!isPlace || foreign == null && one.isInput() && !one.isText) {
            return foreign;
        }
        if (foreign instanceof NdArray || foreign != null && foreign.getClass().isArray()) {
            return foreign;
        }
        Object places = Counterparts.places(one, count);
        if (foreign != null) {
            Array.set(places, 0, foreign);
        }
        return places;
    }

    /** What a place holds now. */
    private static Object result(Parameter one, Object place) {
        boolean isOne = place != null && place.getClass().isArray() && one.isSingle;
        return Counterparts.plain(isOne ? Array.get(place, 0) : place);
    }
}
