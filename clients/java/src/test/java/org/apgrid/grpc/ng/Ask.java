// A program as Ninf-G's samples are; tests run it with an environment of its own.
package org.apgrid.grpc.ng;

import org.gridforum.gridrpc.GrpcClient;
import org.gridforum.gridrpc.GrpcClientFactory;
import org.gridforum.gridrpc.GrpcFunctionHandle;

/** Prints what m/ask says to 5; its argument is a configuration file, or missing. */
final class Ask {
    private Ask() {}

    public static void main(String[] arguments) throws Exception {
        GrpcClient client = GrpcClientFactory.getClient("org.apgrid.grpc.ng.NgGrpcClient");
        client.activate(arguments.length > 0 ? arguments[0] : null);
        GrpcFunctionHandle ask = client.getFunctionHandle("m/ask");
        int[] result = new int[1];
        ask.call(5, result);
        System.out.println(result[0]);
        ask.dispose();
        client.deactivate();
    }
}
