// How the library is found, and what a program hears where it is not, or where Java is too old.
package org.farcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoadingTest {
    private static final Path CLASSES =
        Path.of(Server.class.getProtectionDomain().getCodeSource().getLocation().getPath());
    private static final Path TESTS =
        Path.of(LoadingTest.class.getProtectionDomain().getCodeSource().getLocation().getPath());

    /** A program that says what it met: the version of the library, or the error. */
    public static final class Program {
        private Program() {}

        public static void main(String[] arguments) {
            for (int i = 0; i < 2; i++) {
                try {
                    System.out.println("version " + Server.version());
                } catch (FarcallException error) {
                    System.out.println(error.kind() + " " + error.getMessage());
                }
            }
        }
    }

    @TempDir
    private Path folder;

    /** What another Java prints, which knows of no stage. */
    private List<String> run(
        Path java, Path client, Map<String, String> environment, String... options) throws Exception
    {
        List<String> command = new ArrayList<>(List.of(java.toString()));
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", client + ":" + TESTS, Program.class.getName()));
        ProcessBuilder builder =
            new ProcessBuilder(command).redirectErrorStream(true).directory(folder.toFile());
        builder.environment().keySet().removeIf(
            name -> name.startsWith("FARCALL_") || name.equals("LD_LIBRARY_PATH"));
        builder.environment().putAll(environment);
        Process process = builder.redirectOutput(folder.resolve("output").toFile()).start();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        return Files.readAllLines(folder.resolve("output"));
    }

    private List<String> run(Path client, Map<String, String> environment, String... options)
        throws Exception
    {
        String[] all =
            Stream.concat(Stream.of("--enable-native-access=ALL-UNNAMED"), Stream.of(options))
                .toArray(String[] ::new);
        return run(Path.of(System.getProperty("java.home"), "bin/java"), client, environment, all);
    }

    private static Path library() {
        return Servers.STAGE.resolve("lib").resolve(Library.NAME);
    }

    private static void missing(String words, List<String> all) {
        // Java itself may warn of a file that is no library.
        List<String> said = all.stream().filter(line -> line.startsWith("UNAVAILABLE")).toList();
        assertEquals(2, said.size(), all.toString());
        for (String line : said) {
            assertTrue(line.startsWith("UNAVAILABLE load the library: " + words), line);
            assertTrue(line.contains("-Dfarcall.library=FILE or $FARCALL_LIBRARY"), line);
        }
    }

    /** The client as a jar in a folder, with these files in it. */
    private Path jar(String place, Map<String, Path> carried) throws IOException {
        Path jar = folder.resolve(place);
        Files.createDirectories(jar.getParent());
        try (FileSystem inside = FileSystems.newFileSystem(
                 URI.create("jar:" + jar.toUri()), Map.of("create", "true"));
            Stream<Path> all = Files.walk(CLASSES)) {
            for (Path file : all.filter(Files::isRegularFile).toList()) {
                put(inside, CLASSES.relativize(file).toString(), file);
            }
            for (Map.Entry<String, Path> one : carried.entrySet()) {
                put(inside, one.getKey(), one.getValue());
            }
        }
        return jar;
    }

    private static void put(FileSystem inside, String name, Path file) throws IOException {
        Path to = inside.getPath("/" + name);
        Files.createDirectories(to.getParent());
        Files.copy(file, to);
    }

    /** Each time again: it may have been put right. */
    @Test
    void aMissingLibraryIsSaidAndSoIsWhatToDo() throws Exception {
        missing("there is no file /nonexistent.so",
            run(CLASSES, Map.of(), "-Dfarcall.library=/nonexistent.so"));
        missing("there is no file /nonexistent.so",
            run(CLASSES, Map.of("FARCALL_LIBRARY", "/nonexistent.so")));
        missing("there is no libfarcall.so.0", run(jar("alone/farcall.jar", Map.of()), Map.of()));
        Path text = Files.writeString(folder.resolve("text.so"), "no library");
        missing(
            text + " cannot be loaded", run(CLASSES, Map.of("FARCALL_LIBRARY", text.toString())));
    }

    /** By property, environment, stage, and beside the jar. */
    @Test
    void theLibraryIsFoundWhereItMayBe() throws Exception {
        List<String> found = List.of("version " + Server.version(), "version " + Server.version());
        assertEquals(found, run(CLASSES, Map.of(), "-Dfarcall.library=" + library()));
        assertEquals(found, run(CLASSES, Map.of("FARCALL_LIBRARY", library().toString())));
        assertEquals(found, run(CLASSES, Map.of("FARCALL_STAGE", Servers.STAGE.toString())));
        Path beside = jar("beside/share/java/farcall.jar", Map.of());
        Path lib = Files.createDirectories(folder.resolve("beside/lib"));
        Files.createSymbolicLink(lib.resolve(Library.NAME), library());
        assertEquals(found, run(beside, Map.of()));
    }

    /** Nothing is left of it in the temporary folder. */
    @Test
    void theJarMayCarryTheLibrary() throws Exception {
        Path jar = jar("carrying/farcall.jar",
            Map.of("native/linux-" + System.getProperty("os.arch").replace("amd64", "x86_64") +
                       "/" + Library.NAME,
                library()));
        Path temporary = Files.createDirectories(folder.resolve("temporary"));
        assertEquals("version " + Server.version(),
            run(jar, Map.of(), "-Djava.io.tmpdir=" + temporary).get(0));
        try (Stream<Path> left = Files.list(temporary)) {
            assertEquals(
                0, left.filter(one -> one.getFileName().toString().startsWith("farcall")).count());
        }
    }

    /** In its own words. */
    @Test
    void anOlderJavaSaysWhichOneIsNeeded() throws Exception {
        Path old = null;
        try (Stream<Path> all = Files.exists(Path.of("/usr/lib/jvm"))
                                    ? Files.list(Path.of("/usr/lib/jvm"))
                                    : Stream.empty()) {
            for (Path home : all.toList()) {
                Path release = home.resolve("release");
                boolean isOld =
                    Files.isReadable(release) &&
                    Files.readString(release).matches("(?s).*JAVA_VERSION=\"(11|17|21)[.\"].*");
                old = isOld && Files.isExecutable(home.resolve("bin/java"))
                          ? home.resolve("bin/java")
                          : old;
            }
        }
        assumeTrue(old != null, "there is no older Java here");
        List<String> said = run(old, CLASSES, Map.of());
        assertTrue(said.stream().anyMatch(line
                       -> line.contains("UnsupportedClassVersionError") &&
                              line.contains("class file version 66.0")),
            said.toString());
    }

    /** Of the interface language, spec/idl.md. */
    @Test
    void sizeExpressions() {
        Map<String, Long> names = Map.of("n", 4L, "m", 3L);
        String[][] cases = {{"2*n + 1", "9"}, {"max(1, m - 7)", "1"}, {"n < 2 ? 1 : n^2", "16"},
            {"-n + (m << 2) % 5", "-2"}, {"n >= 4 && !(m == 3)", "0"}, {"min(n, m, 2) / 2", "1"},
            {"abs(-3) != 3 || n > m", "1"}, {"7 >> 1", "3"}};
        for (String[] one : cases) {
            assertEquals(Long.parseLong(one[1]), Expression.value(one[0], names::get), one[0]);
        }
        for (String wrong : new String[] {"", "n +", "p[1]", "log(n)", "2.5 * n", "(n", "n n",
                 "1 / 0", "9223372036854775807 + 1", "(".repeat(200)}) {
            assertThrows(
                ArithmeticException.class, () -> Expression.value(wrong, names::get), wrong);
        }
    }
}
