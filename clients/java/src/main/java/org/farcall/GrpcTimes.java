// How long the parts of a GridRPC call took.
package org.farcall;

import org.gridforum.gridrpc.GrpcExecInfo;

/** From moments of this clock, when the handle was made, and the server's times. */
record GrpcTimes(long[] handle, double total, double started, double ran)
    implements GrpcExecInfo
{
    /** Until the interface was there. */
    @Override
    public double getLookupTime() {
        return (handle[1] - handle[0]) / 1e9;
    }

    /** Until the processes took calls. */
    @Override
    public double getInvokeTime() {
        return (handle[2] - handle[1]) / 1e9;
    }

    /** Until the routine began. */
    @Override
    public double getForeTime() {
        return started;
    }

    /** While it ran. */
    @Override
    public double getExecTime() {
        return ran;
    }

    /** What is left of the whole. */
    @Override
    public double getBackTime() {
        return Math.max(0, total - started - ran);
    }
}
