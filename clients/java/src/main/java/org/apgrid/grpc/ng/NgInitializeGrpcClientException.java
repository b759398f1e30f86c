// Why a client could not begin.
package org.apgrid.grpc.ng;

/** A failure of activate. */
public class NgInitializeGrpcClientException extends NgException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgInitializeGrpcClientException() {}

    /** One in these words. */
    public NgInitializeGrpcClientException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgInitializeGrpcClientException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgInitializeGrpcClientException(String words, Exception caught) {
        super(words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgInitializeGrpcClientException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
