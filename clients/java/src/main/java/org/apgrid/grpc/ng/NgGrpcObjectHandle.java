// A handle of a remote object, under the name that programs for Ninf-G cast to.
package org.apgrid.grpc.ng;

import org.gridforum.gridrpc.GrpcObjectHandle;

/** What the client's handles of objects are. */
public abstract class NgGrpcObjectHandle extends GrpcObjectHandle {
    /** For implementations. */
    protected NgGrpcObjectHandle() {}

    /** Whether no call by this handle is running. */
    public abstract boolean isIdle();
}
