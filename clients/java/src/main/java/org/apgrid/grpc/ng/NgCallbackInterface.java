// A function of the caller's that a routine calls while it runs.
package org.apgrid.grpc.ng;

import java.util.List;

/** A function that is passed to a routine. */
public interface NgCallbackInterface {
    /**
     * Runs it with all of its parameters, in order: IN numbers as Integer, Double, …; arrays, and all that is OUT or INOUT,
     * as arrays, in which the function leaves its results.
     */
    void callback(@SuppressWarnings("rawtypes") List arguments);
}
