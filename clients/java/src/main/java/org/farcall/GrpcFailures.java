// What failures of this client become in the GridRPC interface: exceptions and numbers.
package org.farcall;

import static org.farcall.Numbers.GRPC_CANCELED_NP;
import static org.farcall.Numbers.GRPC_COMMUNICATION_FAILED;
import static org.farcall.Numbers.GRPC_OTHER_ERROR_CODE;
import static org.farcall.Numbers.GRPC_RPC_REFUSED;
import static org.farcall.Numbers.GRPC_SERVER_NOT_FOUND;
import static org.farcall.Numbers.GRPC_SESSION_FAILED;
import static org.farcall.Numbers.GRPC_TIMEOUT_NP;

import java.util.function.Supplier;
import org.apgrid.grpc.ng.NgArgTypeException;
import org.apgrid.grpc.ng.NgException;
import org.apgrid.grpc.ng.NgExecRemoteMethodException;
import org.apgrid.grpc.ng.NgHeartbeatTimeoutException;
import org.apgrid.grpc.ng.NgInitializeGrpcHandleException;
import org.gridforum.gridrpc.GrpcException;

/** Exceptions of GridRPC's for those of this client. */
final class GrpcFailures {
    private GrpcFailures() {}

    /** Which exception of Ninf-G's names a failure becomes. */
    interface Thrower {
        NgException made(int code, String words, Exception cause);
    }

    /** The number of an error (spec/c-abi.md, section 10). */
    private static int code(ErrorKind kind, int notFound) {
        return switch (kind) {
            case UNREACHABLE -> GRPC_SERVER_NOT_FOUND;
            case NOT_FOUND, AMBIGUOUS -> notFound;
            case PERMISSION_DENIED, LIMIT_EXCEEDED, SHUTTING_DOWN, UNAVAILABLE, INTERFACE_CHANGED ->
                GRPC_RPC_REFUSED;
            case CONNECTION_LOST, PROTOCOL, VERSION, DAMAGED -> GRPC_COMMUNICATION_FAILED;
            case ROUTINE_CRASHED, ROUTINE_EXITED, ROUTINE_FAILED -> GRPC_SESSION_FAILED;
            case TIMED_OUT -> GRPC_TIMEOUT_NP;
            case CANCELLED -> GRPC_CANCELED_NP;
            case INVALID_ARGUMENT, INVALID_SOURCE, SYSTEM, INTERNAL -> GRPC_OTHER_ERROR_CODE;
        };
    }

    /** What a function gives, and what it throws as an exception of GridRPC's. */
    static <T> T translated(Thrower thrower, int notFound, Supplier<T> action)
        throws GrpcException
    {
        try {
            return action.get();
        } catch (FarcallException error) {
            throw thrower.made(code(error.kind(), notFound), error.getMessage(), error);
        }
    }

    /** The same where a handle is made. */
    static <T> T bound(int notFound, Supplier<T> action) throws GrpcException {
        return translated(NgInitializeGrpcHandleException::new, notFound, action);
    }

    /** What a failed call throws. */
    static NgException ofCall(int code, String words, Exception cause) {
        ErrorKind kind = cause instanceof FarcallException error ? error.kind() : null;
        if (kind == ErrorKind.INVALID_ARGUMENT) {
            return new NgArgTypeException(code, words, cause);
        }
        return kind == ErrorKind.CONNECTION_LOST
            ? new NgHeartbeatTimeoutException(code, words, cause)
            : new NgExecRemoteMethodException(code, words, cause);
    }
}
