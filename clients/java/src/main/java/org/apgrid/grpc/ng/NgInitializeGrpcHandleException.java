// Why a handle could not be made.
package org.apgrid.grpc.ng;

/** A failure to make a handle. */
public class NgInitializeGrpcHandleException extends NgException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgInitializeGrpcHandleException() {}

    /** One in these words. */
    public NgInitializeGrpcHandleException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgInitializeGrpcHandleException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgInitializeGrpcHandleException(String words, Exception caught) {
        super(words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgInitializeGrpcHandleException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
