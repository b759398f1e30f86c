// How long the parts of a call took.
package org.gridforum.gridrpc;

/** How long the parts of a call took, in seconds. */
public interface GrpcExecInfo {
    /** Looking the function up, when its handle was made. */
    double getLookupTime();

    /** Making the handle, its processes included. */
    double getInvokeTime();

    /** Bringing the arguments there, and waiting in the server's queue. */
    double getForeTime();

    /** The function itself. */
    double getExecTime();

    /** Bringing the results back. */
    double getBackTime();
}
