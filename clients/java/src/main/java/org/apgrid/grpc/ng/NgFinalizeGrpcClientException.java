// Why a client could not end.
package org.apgrid.grpc.ng;

/** A failure of deactivate. */
public class NgFinalizeGrpcClientException extends NgException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgFinalizeGrpcClientException() {}

    /** One in these words. */
    public NgFinalizeGrpcClientException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgFinalizeGrpcClientException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgFinalizeGrpcClientException(String words, Exception caught) {
        super(words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgFinalizeGrpcClientException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
