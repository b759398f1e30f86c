// Takes the news of one call to those who want them.
package org.farcall;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.farcall.Numbers.NEWS_OVER;
import static org.farcall.Numbers.NEWS_PROGRESS;
import static org.farcall.Numbers.NEWS_QUEUED;
import static org.farcall.Numbers.NEWS_STARTED;
import static org.farcall.Numbers.NEWS_STDERR;
import static org.farcall.Numbers.NEWS_STDOUT;
import static org.farcall.Numbers.WANT_OUTPUT;
import static org.farcall.Numbers.WANT_PROGRESS;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** What is told of a call while it is running. */
final class Listener {
    /** Of farcall_news. */
    static final int NEWS_BYTES = 48;
    /** A character of UTF-8 that was cut has at most so many bytes before the cut. */
    private static final int CUT_MAX = 3;

    private final Consumer<Printed> output;
    private final Consumer<Progress> progress;
    /** Of the two streams; null if nobody wants them. */
    private final Text[] texts;

    /** Decodes one stream, whose characters may come in two pieces. */
    private static final class Text {
        private final CharsetDecoder decoder =
            StandardCharsets.UTF_8.newDecoder()
                .onMalformedInput(CodingErrorAction.REPLACE)
                .onUnmappableCharacter(CodingErrorAction.REPLACE);
        private byte[] left = {};

        String decoded(byte[] bytes, boolean isLast) {
            ByteBuffer in =
                ByteBuffer.allocate(left.length + bytes.length).put(left).put(bytes).flip();
            CharBuffer out = CharBuffer.allocate(in.remaining() + CUT_MAX);
            decoder.decode(in, out, isLast);
            left = new byte[in.remaining()];
            in.get(left);
            return out.flip().toString();
        }
    }

    private static final Listener NOBODY = new Listener(null, null);

    /** One for a call; all calls that nobody listens to share one. */
    static Listener of(Consumer<Printed> output, Consumer<Progress> progress) {
        return output == null && progress == null ? NOBODY : new Listener(output, progress);
    }

    private Listener(Consumer<Printed> output, Consumer<Progress> progress) {
        this.output = output;
        this.progress = progress;
        texts = output == null ? null : new Text[] {new Text(), new Text()};
    }

    /** Bits of enum farcall_wanted; 0 if nobody wants anything. */
    int wanted() {
        return (progress == null ? 0 : WANT_PROGRESS) + (output == null ? 0 : WANT_OUTPUT);
    }

    /** Waits for the next news and passes them on: true when there will be none any more. */
    boolean take(long call, double seconds, long news, long error) {
        int status = Native.callNews(call, seconds, news, error);
        if (status == Numbers.PENDING) {
            return false;
        }
        if (status != Numbers.OK) {
            // The connection is gone; the outcome of the call says so, too.
            Native.error(status, Native.MEMORY.get(JAVA_LONG, error));
            return true;
        }
        return passOn(news);
    }

    private boolean passOn(long news) {
        MemorySegment memory = Native.MEMORY;
        int kind = memory.get(JAVA_INT, news);
        long data = memory.get(JAVA_LONG, news + 16);
        byte[] said =
            data == 0 ? new byte[0] : Native.bytes(data, memory.get(JAVA_LONG, news + 24));
        switch (kind) {
        case NEWS_QUEUED ->
            tell(new Progress(false, memory.get(JAVA_INT, news + 4), Double.NaN, ""));
        case NEWS_STARTED -> tell(new Progress(true, 0, Double.NaN, ""));
        case NEWS_PROGRESS ->
            tell(new Progress(true, 0, memory.get(JAVA_DOUBLE, news + 8),
                new String(said, StandardCharsets.UTF_8)));
        case NEWS_STDOUT, NEWS_STDERR -> print(kind == NEWS_STDERR, said, false);
        case NEWS_OVER -> {
            print(false, new byte[0], true);
            print(true, new byte[0], true);
        }
            default -> { }
        }
        return kind == NEWS_OVER;
    }

    private void tell(Progress how) {
        if (progress != null) {
            progress.accept(how);
        }
    }

    private void print(boolean isError, byte[] said, boolean isLast) {
        if (output == null) {
            return;
        }
        String text = texts[isError ? 1 : 0].decoded(said, isLast);
        if (!text.isEmpty()) {
            output.accept(new Printed(text, isError));
        }
    }
}
