// Finds libfarcall.so.0 and loads it, once for the whole program.
package org.farcall;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The shared library: named by a property or the environment, carried by the jar, beside it,
 * staged, or the system's own. */
final class Library {
    /** Bound to the major version of the C interface: another one would be another library. */
    static final String NAME = "libfarcall.so.0";
    /** The system property that names the library. */
    static final String PROPERTY = "farcall.library";
    private static final String VARIABLE = "FARCALL_LIBRARY";
    private static final String STAGE = "FARCALL_STAGE";

    private static SymbolLookup symbols;

    private Library() {}

    /** Loads it if that has not been done. What is wrong is thrown each time, and may be put right
     * in between. */
    static synchronized void load() {
        if (symbols == null) {
            symbols = found();
        }
    }

    /** Its symbols, once it is loaded. */
    static synchronized SymbolLookup symbols() {
        load();
        return symbols;
    }

    private static SymbolLookup found() {
        checkMachine();
        String named = firstOf(System.getProperty(PROPERTY), System.getenv(VARIABLE));
        if (named != null) {
            return open(Path.of(named));
        }
        SymbolLookup carried = carried();
        if (carried != null) {
            return carried;
        }
        for (Path place : places()) {
            if (Files.exists(place)) {
                return open(place);
            }
        }
        try {
            return SymbolLookup.libraryLookup(NAME, Arena.global());
        } catch (IllegalArgumentException error) {
            throw missing("there is no " + NAME, error);
        }
    }

    /** The C interface is the same on all 64-bit machines, but there is no library for others yet.
     */
    private static void checkMachine() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        if (!system.contains("linux") ||
            !"64".equals(System.getProperty("sun.arch.data.model", "64"))) {
            String machine = System.getProperty("os.name") + " on " + System.getProperty("os.arch");
            throw missing("Farcall's library is for 64-bit Linux, and this is " + machine, null);
        }
    }

    /** The library that the jar carries, or null. Its file is needed for a moment only. */
    private static SymbolLookup carried() {
        String resource = "/native/linux-" + architecture() + "/" + NAME;
        try (InputStream content = Library.class.getResourceAsStream(resource)) {
            if (content == null) {
                return null;
            }
            Path folder = Files.createTempDirectory("farcall");
            Path file = folder.resolve(NAME);
            try {
                Files.copy(content, file, StandardCopyOption.REPLACE_EXISTING);
                return open(file);
            } finally {
                // What is loaded stays loaded.
                Files.deleteIfExists(file);
                Files.deleteIfExists(folder);
            }
        } catch (IOException error) {
            throw missing("the library that the jar carries cannot be unpacked: " + error,
                new UncheckedIOException(error));
        }
    }

    private static String architecture() {
        String name = System.getProperty("os.arch");
        return name.equals("amd64") ? "x86_64" : name;
    }

    /** Beside the jar, as `make install` lays things out (share/java and lib), and where a build
     * stages them. */
    private static List<Path> places() {
        List<Path> places = new ArrayList<>();
        Path jar = ownPlace();
        if (jar != null && jar.getParent() != null) {
            places.add(jar.resolveSibling(NAME));
            places.add(jar.getParent().resolve("../../lib/" + NAME).normalize());
        }
        String stage = System.getenv(STAGE);
        if (stage != null && !stage.isEmpty()) {
            places.add(Path.of(stage, "lib", NAME));
        }
        return places;
    }

    private static Path ownPlace() {
        try {
            var source = Library.class.getProtectionDomain().getCodeSource();
            return source == null ? null : Path.of(source.getLocation().toURI());
        } catch (URISyntaxException | IllegalArgumentException |
                 java.nio.file.FileSystemNotFoundException error) {
            // Not a file of this machine: a class loader of its own.
            return null;
        }
    }

    private static SymbolLookup open(Path file) {
        if (!Files.exists(file)) {
            throw missing("there is no file " + file, null);
        }
        try {
            return SymbolLookup.libraryLookup(file.toAbsolutePath(), Arena.global());
        } catch (IllegalArgumentException error) {
            throw missing(file + " cannot be loaded: " + error.getMessage(), error);
        }
    }

    private static String firstOf(String property, String variable) {
        if (property != null && !property.isEmpty()) {
            return property;
        }
        return variable == null || variable.isEmpty() ? null : variable;
    }

    private static FarcallException missing(String what, Throwable cause) {
        String advice = "build Farcall, and name its lib/" + NAME + " with -D" + PROPERTY +
                        "=FILE or $" + VARIABLE;
        FarcallException made =
            FarcallException.of(ErrorKind.UNAVAILABLE, "load the library", what, advice);
        if (cause != null) {
            made.initCause(cause);
        }
        return made;
    }
}
