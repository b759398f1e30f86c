// That a server was silent for too long.
package org.apgrid.grpc.ng;

/** A call whose connection was lost, or whose server was silent for too long. */
public class NgHeartbeatTimeoutException extends NgException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgHeartbeatTimeoutException() {}

    /** One in these words. */
    public NgHeartbeatTimeoutException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgHeartbeatTimeoutException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgHeartbeatTimeoutException(String words, Exception caught) {
        super(words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgHeartbeatTimeoutException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
