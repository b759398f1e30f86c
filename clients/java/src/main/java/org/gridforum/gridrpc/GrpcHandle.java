// What handles of functions and of objects have in common.
package org.gridforum.gridrpc;

/** A handle of a function or of an object. */
public abstract class GrpcHandle {
    /** For implementations. */
    protected GrpcHandle() {}

    /** Ends the call that another thread makes by this handle, which returns null; does nothing if
     * there is no call. */
    public abstract void cancel() throws GrpcException;

    /** Ends the handle, and what the server holds for it. */
    public abstract void dispose() throws GrpcException;
}
