// A handle of a remote function.
package org.gridforum.gridrpc;

import java.util.Arrays;
import java.util.List;
import java.util.Properties;

/** A function on a server. Calls wait for their end; a handle makes one at a time. */
public abstract class GrpcFunctionHandle extends GrpcHandle {
    /** For implementations. */
    protected GrpcFunctionHandle() {}

    /** Calls the function with all of its parameters, in order; attributes of the session may be
     * null. */
    public abstract GrpcExecInfo callWith(Properties sessionAttributes, List<?> arguments)
        throws GrpcException;

    /** The same without attributes. */
    public GrpcExecInfo callWith(List<?> arguments) throws GrpcException {
        return callWith(null, arguments);
    }

    /** The same with the arguments one by one. */
    public GrpcExecInfo call(Object... arguments) throws GrpcException {
        return callWith(null, Arrays.asList(arguments));
    }

    /** The same with attributes. */
    public GrpcExecInfo call(Properties sessionAttributes, Object... arguments) throws GrpcException
    {
        return callWith(sessionAttributes, Arrays.asList(arguments));
    }
}
