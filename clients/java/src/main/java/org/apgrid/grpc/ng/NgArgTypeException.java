// That an argument has another type than the interface says.
package org.apgrid.grpc.ng;

/** A call with an argument that does not fit the interface. */
public class NgArgTypeException extends NgException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgArgTypeException() {}

    /** One in these words. */
    public NgArgTypeException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgArgTypeException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgArgTypeException(String words, Exception caught) {
        super(words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgArgTypeException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
