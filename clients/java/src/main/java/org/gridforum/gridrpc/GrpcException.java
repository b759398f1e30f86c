// The exception of the GridRPC interface.
package org.gridforum.gridrpc;

import java.io.PrintStream;

/** Any failure of a GridRPC function. Where it comes from Farcall, the cause is a FarcallException.
 */
public class GrpcException extends Exception {
    private static final long serialVersionUID = 1L;
    /** GRPC_OTHER_ERROR_CODE of grpc.h. */
    protected static final int OTHER = 13;

    /** What is wrong, in words. */
    public String str;
    /** What was caught, or null. */
    public Exception innerException;
    /** Where printStackTrace() prints. */
    public transient PrintStream os = System.err;
    /** The number that grpc.h has for it. */
    private final int code;

    /** One without words. */
    public GrpcException() {
        this((String) null);
    }

    /** One in these words. */
    public GrpcException(String str) {
        super(str);
        this.str = str;
        code = OTHER;
    }

    /** One for what was caught. */
    public GrpcException(Exception inner) {
        this(OTHER, inner.getMessage(), inner);
    }

    /** One with its number, and what was caught, or null. */
    public GrpcException(int code, String str, Exception inner) {
        super(str, inner);
        this.code = code;
        this.str = str;
        innerException = inner;
    }

    /** Prints it, its words and what was caught to {@link #os}. */
    @Override
    public void printStackTrace() {
        printStackTrace(os == null ? System.err : os);
    }

    /** The number that grpc.h has for it, from 1: GRPC_NOT_INITIALIZED is 1, GRPC_SERVER_NOT_FOUND
     * 4, … */
    public int getErrorCode() {
        return code;
    }
}
