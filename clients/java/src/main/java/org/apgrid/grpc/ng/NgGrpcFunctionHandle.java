// A handle of a remote function, under the name that programs for Ninf-G cast to.
package org.apgrid.grpc.ng;

import org.gridforum.gridrpc.GrpcFunctionHandle;

/** What the client's handles of functions are. */
public abstract class NgGrpcFunctionHandle extends GrpcFunctionHandle {
    /** For implementations. */
    protected NgGrpcFunctionHandle() {}

    /** Whether no call by this handle is running. */
    public abstract boolean isIdle();
}
