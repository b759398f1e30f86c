// Areas under a family of curves: many calls at once, each with a function of this program that the
// routine calls.
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.farcall.CallFuture;
import org.farcall.Callback;
import org.farcall.FarcallException;
import org.farcall.Routine;
import org.farcall.Server;

public class Sweep {
    public static void main(String[] arguments) {
        try (Server server = Server.publish(Path.of("examples/callbacks/integrate.idl"))) {
            Routine trapezoid = server.routine("trapezoid");
            List<CallFuture> calls = new ArrayList<>();
            for (int power = 1; power <= 3; power++) {
                int exponent = power;
                Callback curve = Callback.real(x -> Math.pow(x, exponent));
                calls.add(
                    trapezoid.with(0.0, 1.0, 1000, curve).timeout(Duration.ofMinutes(1)).submit());
            }
            for (int power = 1; power <= 3; power++) {
                System.out.printf(
                    "x^%d: %.4f%n", power, calls.get(power - 1).join().real("integral"));
            }
            trapezoid.call(0.0, 1.0, 1000, Callback.real(x -> {
                throw new IllegalStateException("no such curve");
            }));
        } catch (FarcallException error) {
            System.out.println(error.kind() + ": " + error.getCause().getMessage());
        }
    }
}
