// A function of the caller's that a routine calls while it runs.
package ninf.client;

import java.util.Vector;

/** A function that is passed to a routine. */
public interface CallbackFunc {
    /**
     * Runs it with all of its parameters, in order, each as an array: a number or a text as an array of one, several dimensions
     * as arrays of arrays. The function leaves its results in those that are OUT or INOUT.
     */
    void callback(@SuppressWarnings("rawtypes") Vector arguments);
}
