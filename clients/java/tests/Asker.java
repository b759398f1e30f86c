// Makes one kind of GridRPC call with a configuration; tells what came of it, and in what time.
import java.util.Arrays;
import java.util.Properties;
import org.apgrid.grpc.ng.NgCallbackInterface;
import org.apgrid.grpc.ng.NgGrpcHandleAttr;
import org.gridforum.gridrpc.GrpcClient;
import org.gridforum.gridrpc.GrpcClientFactory;
import org.gridforum.gridrpc.GrpcException;
import org.gridforum.gridrpc.GrpcFunctionHandle;
import org.gridforum.gridrpc.GrpcObjectHandle;

public class Asker {
    private interface Step {
        Object run() throws Exception;
    }

    /** A line: what it is, what came of it, and full seconds. */
    private static void tell(String what, Step step) {
        long began = System.nanoTime();
        String outcome;
        try {
            outcome = String.valueOf(step.run());
        } catch (GrpcException error) {
            outcome = error.getErrorCode() + " " + error.getClass().getSimpleName();
            System.err.println(error.getMessage());
        } catch (Exception error) {
            outcome = String.valueOf(error);
        }
        System.out.println(what + " " + outcome + " " + (System.nanoTime() - began) / 1000000000L);
    }

    private static int ranks(GrpcFunctionHandle handle) throws GrpcException {
        int[] count = new int[1];
        handle.call(count);
        return count[0];
    }

    public static void main(String[] words) throws Exception {
        GrpcClient client = GrpcClientFactory.getClient("org.apgrid.grpc.ng.NgGrpcClient");
        client.activate(words[0]);
        switch (words[1]) {
            case "solve":
                tell("solve", () -> {
                    double[] b = {6, 7};
                    client.getFunctionHandle("lapack/dgesv")
                        .call(2, 1, new double[] {4, 1, 1, 3}, 2, new int[2], b, 2, new int[1]);
                    return Arrays.toString(b).replace(" ", "");
                });
                break;
            case "send":
                double[] array = new double[Integer.parseInt(words[2])];
                tell("send", () -> {
                    double[] sum = new double[1];
                    client.getFunctionHandle("wire/sum").call(array.length, array, sum);
                    return sum[0];
                });
                break;
            case "fetch":
                tell("fetch", () -> {
                    double[] sum = new double[1];
                    client.getFunctionHandle("wire/sum")
                        .call(Integer.parseInt(words[2]), words[3], sum);
                    return sum[0];
                });
                break;
            case "receive":
                tell("receive", () -> {
                    double[] y = new double[Integer.parseInt(words[2])];
                    client.getFunctionHandle("wire/make").call(y.length, y);
                    return y[y.length - 1];
                });
                break;
            case "sleep":
                GrpcFunctionHandle sleep = client.getFunctionHandle("wire/rest");
                tell("sleep", () -> sleep.call(Integer.parseInt(words[2])));
                tell("again", () -> sleep.call(0) != null);
                break;
            case "print":
                client.getFunctionHandle("wire/print").call("from the routine");
                break;
            case "ranks":
                Properties processes = new Properties();
                if (words.length > 2) {
                    processes.put(NgGrpcHandleAttr.KEY_MPI_NCPUS, Integer.valueOf(words[2]));
                    processes = NgGrpcHandleAttr.convertNumOfCPUs(processes);
                }
                Properties asked = processes;
                tell("ranks", () -> ranks(client.getFunctionHandle("ranks/count", asked)));
                tell("array", () -> ranks(client.getFunctionHandles("ranks/count", 1)[0]));
                break;
            case "tick":
                tell("tick", () -> client.getFunctionHandle("wire/tick").call());
                break;
            case "back":
                NgCallbackInterface slow = arguments -> {
                    ((double[]) arguments.get(1))[0] = 1;
                };
                tell("back", () -> client.getFunctionHandle("wire/back").call(4000000, slow));
                break;
            case "object":
                Properties attributes = new Properties();
                if (words.length > 2) {
                    attributes.put(NgGrpcHandleAttr.KEY_STOPTIMEOUT, words[2]);
                }
                GrpcObjectHandle object = client.getObjectHandle("wire/slow", attributes);
                int[] value = new int[1];
                object.invoke("get", value);
                tell("dispose", () -> {
                    object.dispose();
                    return value[0];
                });
                break;
            case "array":
                tell("array", () -> client.getFunctionHandles(words[2], 2).length);
                break;
            default:
                throw new IllegalArgumentException(words[1]);
        }
        client.deactivate();
    }
}
