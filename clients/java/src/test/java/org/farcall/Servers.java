// What the tests share: one private server for all of them, and how to start others.
package org.farcall;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Servers of the tests' own. The stage is what `make build` made. */
final class Servers {
    /** The repository. */
    static final Path ROOT =
        Path.of(System.getProperty("farcall.root", "../..")).toAbsolutePath().normalize();
    static final Path STAGE =
        Path.of(System.getenv().getOrDefault("FARCALL_STAGE", ROOT.resolve("build").toString()));
    /** Routines that tell what they got: those of the Python client's tests, which are in C. */
    private static final Path ROUTINES = ROOT.resolve("clients/python/tests/routines");

    private static Server shared;

    private Servers() {}

    static Path routines(String name) {
        return ROUTINES.resolve(name + ".idl");
    }

    private static Path[] files() {
        List<Path> files = new ArrayList<>();
        for (String name : List.of("behaviour", "calling", "layouts", "news", "sharing")) {
            files.add(routines(name));
        }
        files.add(ROOT.resolve("examples/objects/rod.idl"));
        files.add(ROOT.resolve("examples/progress/anneal.idl"));
        files.add(ROOT.resolve("routines/lapack/lapack.idl"));
        files.add(ROOT.resolve("routines/lapack/eigen.idl"));
        return files.toArray(new Path[0]);
    }

    /** Started with the first test that wants it; it ends with this process. */
    static synchronized Server shared() {
        if (shared == null) {
            shared = options().publish(files()).connect();
        }
        return shared;
    }

    /** A server that a test may bring down. */
    static Server own(String... arguments) {
        return options()
            .publish(routines("behaviour"), routines("calling"))
            .arguments(arguments)
            .connect();
    }

    static ServerOptions options() {
        return Server.options()
            .program(STAGE.resolve("bin/farcall"))
            .timeout(java.time.Duration.ofSeconds(60));
    }

    /** Processes whose command line has this word, children of this one alone. */
    static List<ProcessHandle> children() {
        return ProcessHandle.current()
            .children()
            .filter(one -> one.info().command().orElse("").endsWith("farcall"))
            .toList();
    }

    static long residentKilobytes() throws java.io.IOException {
        return Files.readAllLines(Path.of("/proc/self/status"))
            .stream()
            .filter(line -> line.startsWith("VmRSS:"))
            .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
            .findFirst()
            .orElseThrow();
    }
}
