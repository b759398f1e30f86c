// A client of GridRPC servers.
package org.gridforum.gridrpc;

import java.util.Properties;

/** Makes handles of functions and objects, between its activation and its end. */
public interface GrpcClient {
    /** Begins, with a configuration file; null or "" for none. */
    void activate(String configuration) throws GrpcException;

    /** Begins, with the properties of a server: `hostname`, `port`. */
    void activate(Properties server) throws GrpcException;

    /** A handle of a function on the server of these properties. */
    GrpcFunctionHandle getFunctionHandle(String function, Properties server) throws GrpcException;

    /** A handle of a function on the default server. */
    GrpcFunctionHandle getFunctionHandle(String function) throws GrpcException;

    /** So many handles by one request, each a process of its own. */
    GrpcFunctionHandle[] getFunctionHandles(String function, Properties server, int count)
        throws GrpcException;

    /** The same on the default server. */
    GrpcFunctionHandle[] getFunctionHandles(String function, int count) throws GrpcException;

    /** A new object of a class on the server of these properties. */
    GrpcObjectHandle getObjectHandle(String name, Properties server) throws GrpcException;

    /** A new object of a class on the default server. */
    GrpcObjectHandle getObjectHandle(String name) throws GrpcException;

    /** So many new objects by one request. */
    GrpcObjectHandle[] getObjectHandles(String name, Properties server, int count)
        throws GrpcException;

    /** The same on the default server. */
    GrpcObjectHandle[] getObjectHandles(String name, int count) throws GrpcException;

    /** Ends all handles and calls under way. It may be activated again. */
    void deactivate() throws GrpcException;
}
