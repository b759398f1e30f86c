// How long the parts of a call took.
package ninf.client;

import org.gridforum.gridrpc.GrpcExecInfo;

/** How long the parts of a call took, in seconds. */
public class NinfExecInfo {
    /** Looking the function up. */
    public final double lookup;
    /** Bringing the arguments there, and waiting in the server's queue. */
    public final double fore;
    /** The function itself. */
    public final double exec;
    /** Bringing the results back. */
    public final double back;

    NinfExecInfo(GrpcExecInfo times) {
        lookup = times.getLookupTime();
        fore = times.getForeTime();
        exec = times.getExecTime();
        back = times.getBackTime();
    }

    /** All of them. */
    @Override
    public String toString() {
        return String.format(
            "lookup %.6f s, fore %.6f s, exec %.6f s, back %.6f s", lookup, fore, exec, back);
    }
}
