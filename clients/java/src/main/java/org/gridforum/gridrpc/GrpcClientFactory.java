// Makes GridRPC clients.
package org.gridforum.gridrpc;

import org.apgrid.grpc.ng.NgGrpcClient;

/** Makes clients by the name of their class. */
public final class GrpcClientFactory {
    /** Has only functions. */
    public GrpcClientFactory() {}

    /** Farcall's client. */
    public static GrpcClient getClient() {
        return new NgGrpcClient();
    }

    /** Farcall's client for null and ""; otherwise an instance of the class:
     * "org.apgrid.grpc.ng.NgGrpcClient" is Farcall's, too. */
    public static GrpcClient getClient(String className) throws GrpcException {
        if (className == null || className.isEmpty()) {
            return getClient();
        }
        try {
            return (GrpcClient) Class.forName(className).getConstructor().newInstance();
        } catch (ReflectiveOperationException | ClassCastException error) {
            throw new GrpcException(13,
                "get a client: " + className + " is not a client class that can be created (" +
                    error + ")",
                error);
        }
    }
}
