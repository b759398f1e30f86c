// What handles of functions and of objects have in common.
package org.gridforum.gridrpc;

/** A handle of a function or of an object. */
public abstract class GrpcHandle {
    /** For implementations. */
    protected GrpcHandle() {}

    /** Calls a function with all of its parameters, in order. An object has methods, and refuses it.
     */
    public GrpcExecInfo callWith(Object... arguments) throws GrpcException {
        throw new GrpcException("call: this is a handle of an object; invoke a method of it");
    }

    /** Ends the call that another thread makes by this handle, which returns null; does nothing if
     * there is no call. */
    public abstract void cancel() throws GrpcException;

    /** Ends the handle, and what the server holds for it. */
    public abstract void dispose() throws GrpcException;
}
