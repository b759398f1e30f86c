// Says where calls of a metaserver's users run, and has some run at one server: `Places SERVER`.

import org.farcall.FarcallException;
import org.farcall.Results;
import org.farcall.Routine;
import org.farcall.Server;

public final class Places {
    private Places() {}

    private static void tell(String what, Results results) {
        System.out.println(what + " " + results.integer("y") + " " + results.server());
    }

    public static void main(String[] words) throws Exception {
        try (Server server = Server.connect()) {
            Routine routine = server.routine("where/double_it");
            tell("placed", routine.with(21).call());
            tell("bound", routine.with(4).at(words[0]).call());
            tell("submitted", routine.with(5).at(words[0]).submit().get());
            tell("segments", routine.with(6).at(words[0]).segments().call());
            try {
                routine.with(7).at("unix:/nowhere").call();
            } catch (FarcallException error) {
                System.out.println("unknown " + error.kind() + " " + error.getMessage());
            }
        }
    }
}
