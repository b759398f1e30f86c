// Why a handle could not end.
package org.apgrid.grpc.ng;

/** A failure of dispose. */
public class NgFinalizeGrpcHandleException extends NgException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgFinalizeGrpcHandleException() {}

    /** One in these words. */
    public NgFinalizeGrpcHandleException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgFinalizeGrpcHandleException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgFinalizeGrpcHandleException(String words, Exception caught) {
        super(words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgFinalizeGrpcHandleException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
