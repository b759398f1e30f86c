// The client under the name that programs for Ninf-G ask for.
package org.apgrid.grpc.ng;

import org.farcall.FarcallGrpcClient;

/** What GrpcClientFactory makes for this name: Farcall's client. */
public class NgGrpcClient extends FarcallGrpcClient {
    /** A client that is not active. */
    public NgGrpcClient() {}
}
