// Makes GridRPC clients.
package org.gridforum.gridrpc;

import org.farcall.FarcallGrpcClient;

/** Makes clients by the name of their class. */
public final class GrpcClientFactory {
    /** What programs for Ninf-G name. */
    private static final String NINF_G = "org.apgrid.grpc.ng.NgGrpcClient";

    private GrpcClientFactory() {}

    /** Farcall's client. */
    public static GrpcClient getClient() {
        return new FarcallGrpcClient();
    }

    /** Farcall's client for null, "" and the name of Ninf-G's; otherwise an instance of the class.
     */
    public static GrpcClient getClient(String className) throws GrpcException {
        if (className == null || className.isEmpty() || className.equals(NINF_G)) {
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
