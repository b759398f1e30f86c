// Keys of the properties of a session.
package org.apgrid.grpc.ng;

/** Keys of sessions' properties. */
public class NgGrpcSessionAttr {
    /** Seconds that a call may take; 0: for ever. */
    public static final String KEY_SESSION_TIMEOUT = "session_timeout";

    /** Has only constants. */
    public NgGrpcSessionAttr() {}
}
