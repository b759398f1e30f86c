// Why a call failed.
package org.apgrid.grpc.ng;

/** A failure of a call. */
public class NgExecRemoteMethodException extends NgException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgExecRemoteMethodException() {}

    /** One in these words. */
    public NgExecRemoteMethodException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgExecRemoteMethodException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgExecRemoteMethodException(String words, Exception caught) {
        super(words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgExecRemoteMethodException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
