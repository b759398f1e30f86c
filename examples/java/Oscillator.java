// The lowest energies of the harmonic oscillator, from its Hamiltonian on a grid. The units are
// those in which hbar, m and omega are 1.
import java.util.Arrays;
import org.farcall.Results;
import org.farcall.Server;

public class Oscillator {
    public static void main(String[] arguments) {
        int n = 400;
        double h = 16.0 / (n - 1);
        double[][] hamiltonian = new double[n][n];
        for (int i = 0; i < n; i++) {
            double x = -8 + i * h;
            hamiltonian[i][i] = 1 / (h * h) + x * x / 2;
            if (i > 0) {
                hamiltonian[i][i - 1] = hamiltonian[i - 1][i] = -0.5 / (h * h);
            }
        }
        try (Server server = Server.connect()) {
            // The matrix, and that a range of its eigenvalues is wanted: the first four.
            Results r = server.routine("dsyevr")
                            .with()
                            .set("a", hamiltonian)
                            .set("range", 'I')
                            .set("iu", 4)
                            .call();
            for (double energy : r.doubles("w")) {
                System.out.printf("%.3f%n", energy);
            }
            System.out.println(Arrays.toString(r.array("z").shape()));
        }
    }
}
