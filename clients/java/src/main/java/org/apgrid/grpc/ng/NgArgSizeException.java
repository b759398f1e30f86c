// That an array is shorter than the interface says.
package org.apgrid.grpc.ng;

/** A call with an array that is too short; nothing throws it: see NgArgTypeException. */
public class NgArgSizeException extends NgException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgArgSizeException() {}

    /** One in these words. */
    public NgArgSizeException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgArgSizeException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgArgSizeException(String words, Exception caught) {
        super(words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgArgSizeException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
