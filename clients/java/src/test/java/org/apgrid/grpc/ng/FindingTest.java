// Where handles go: as with C's programs and the same configuration.
package org.apgrid.grpc.ng;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.farcall.TestServers;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(180)
class FindingTest {
    private static final Path STAGE = TestServers.stage();

    @TempDir
    Path folder;

    @BeforeEach
    void write() throws IOException {
        Files.createDirectory(folder.resolve("run"),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Files.writeString(folder.resolve("m.idl"),
            "Module m;\nDefine ask(IN int x, OUT int *r) { *r = x + 1; }\n");
        Files.writeString(
            folder.resolve("local.conf"), "<SERVER>\n    hostname localhost\n</SERVER>\n");
    }

    private ProcessBuilder command(List<String> words) {
        ProcessBuilder made = new ProcessBuilder(words).directory(folder.toFile());
        Map<String, String> variables = made.environment();
        List.of("FARCALL_SERVER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NG_CONFIG_FILE")
            .forEach(variables::remove);
        variables.put("HOME", folder.toString());
        variables.put("XDG_RUNTIME_DIR", folder.resolve("run").toString());
        variables.put("NG_DIR", STAGE.resolve("ng").toString());
        variables.put("NG_HOSTNAME", "here.test");
        variables.put("PATH",
            STAGE.resolve("bin") + ":" + STAGE.resolve("ng/bin") + ":" + variables.get("PATH"));
        return made.redirectErrorStream(true);
    }

    private static String output(Process process) throws Exception {
        String said = new String(process.getInputStream().readAllBytes());
        process.waitFor();
        return said.strip();
    }

    private void run(String... words) throws Exception {
        Process process = command(List.of(words)).start();
        String said = output(process);
        assertEquals(0, process.exitValue(), said);
    }

    /** What the program prints that asks m/ask. */
    private String asked(Map<String, String> variables, String... arguments) throws Exception {
        List<String> words = new ArrayList<>(
            List.of(Path.of(System.getProperty("java.home"), "bin/java").toString(),
                "--enable-native-access=ALL-UNNAMED", "-cp",
                System.getProperty("java.class.path"), Ask.class.getName()));
        words.addAll(List.of(arguments));
        ProcessBuilder made = command(words);
        made.environment().putAll(variables);
        made.environment().put(
            "FARCALL_LIBRARY", STAGE.resolve("lib/libfarcall.so.0").toString());
        return output(made.start());
    }

    /** The user's own server, with a file that names this host, and with none at all. */
    @Test
    void aRunningServerIsAsked() throws Exception {
        Process serving =
            command(List.of(STAGE.resolve("bin/farcall").toString(), "serve", "m.idl"))
                .redirectOutput(folder.resolve("serve.log").toFile())
                .start();
        try {
            while (!Files.readString(folder.resolve("serve.log")).contains("serving")) {
                assertTrue(serving.isAlive(), Files.readString(folder.resolve("serve.log")));
                Thread.sleep(50);
            }
            assertEquals("6", asked(Map.of(), "local.conf"));
            assertEquals("6", asked(Map.of()));
        } finally {
            serving.destroy();
            serving.waitFor(20, TimeUnit.SECONDS);
        }
    }

    /** LOCAL_LDIF, and lists of Ninf-G 5; the file by $NG_CONFIG_FILE and in the home folder. */
    @Test
    void executablesOfThisHostServe() throws Exception {
        run(STAGE.resolve("ng/bin/ng_gen").toString(), "m.idl");
        run("make", "-s", "-f", "m.mak");
        String server = "<SERVER>\n    hostname here.test\n</SERVER>\n";
        Files.writeString(folder.resolve("ldif.conf"),
            server + "<LOCAL_LDIF>\n    filename m.here.test.ngdef\n</LOCAL_LDIF>\n");
        Files.writeString(folder.resolve(".ngconf"),
            server + "<INFORMATION_SOURCE>\n    type NRF\n    tag nrf\n    source " +
                     "m.here.test.nrf\n</INFORMATION_SOURCE>\n");
        assertEquals("6", asked(Map.of(), "ldif.conf"));
        assertEquals("6", asked(Map.of("NG_CONFIG_FILE", "ldif.conf")));
        assertEquals("6", asked(Map.of()));
    }
}
