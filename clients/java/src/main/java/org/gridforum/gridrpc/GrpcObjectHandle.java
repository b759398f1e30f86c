// A handle of a remote object.
package org.gridforum.gridrpc;

import java.util.Arrays;
import java.util.List;
import java.util.Properties;

/** An object on a server. Calls wait for their end; a handle makes one at a time. */
public abstract class GrpcObjectHandle extends GrpcHandle {
    /** For implementations. */
    protected GrpcObjectHandle() {}

    /** Calls a method with all of its parameters, in order; attributes of the session may be null.
     */
    public abstract GrpcExecInfo invokeWith(
        String method, Properties sessionAttributes, List<?> arguments) throws GrpcException;

    /** The same without attributes. */
    public GrpcExecInfo invokeWith(String method, List<?> arguments) throws GrpcException {
        return invokeWith(method, null, arguments);
    }

    /** The same with the arguments one by one. */
    public GrpcExecInfo invoke(String method, Object... arguments) throws GrpcException {
        return invokeWith(method, null, Arrays.asList(arguments));
    }

    /** The same with attributes. */
    public GrpcExecInfo invoke(String method, Properties sessionAttributes, Object... arguments)
        throws GrpcException
    {
        return invokeWith(method, sessionAttributes, Arrays.asList(arguments));
    }
}
