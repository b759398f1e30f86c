// What is thrown by Ninf-G's client.
package org.apgrid.grpc.ng;

import org.gridforum.gridrpc.GrpcException;

/** Any failure of a GridRPC function, under the name that programs for Ninf-G catch. */
public class NgException extends GrpcException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgException() {}

    /** One in these words. */
    public NgException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgException(String words, Exception caught) {
        super(OTHER, words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
