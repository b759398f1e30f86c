// The one exception of Farcall: what was tried, what is wrong, where, and what to do about it.
package org.farcall;

/**
 * Any failure of Farcall. The message is a sentence for people: what was tried, what happened, where, and the fix. What a
 * program decides by is {@link #kind()} and {@link #isRetryable()}.
 */
public final class FarcallException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What went wrong. */
    private final ErrorKind kind;
    /** What was tried. */
    private final String operation;
    /** What to do about it, or null. */
    private final String advice;
    /** Whether nothing ran, and the same may succeed later. */
    private final boolean retryable;

    FarcallException(
        ErrorKind kind, String message, String operation, String advice, boolean retryable)
    {
        super(message);
        this.kind = kind;
        this.operation = operation;
        this.advice = advice;
        this.retryable = retryable;
    }

    /** What went wrong, from a closed set. */
    public ErrorKind kind() {
        return kind;
    }

    /** What was tried: "call", "connect", … */
    public String operation() {
        return operation;
    }

    /** What to do about it; null if nobody knows. */
    public String advice() {
        return advice;
    }

    /** Whether nothing ran, and the same request may succeed later. */
    public boolean isRetryable() {
        return retryable;
    }

    /** An error met on this side, in the words of the core: `operation: message (key: value, …);
     * advice`. */
    static FarcallException of(
        ErrorKind kind, String operation, String message, String advice, String... context)
    {
        StringBuilder text = new StringBuilder(operation).append(": ").append(message);
        for (int i = 0; i + 1 < context.length; i += 2) {
            text.append(i == 0 ? " (" : ", ")
                .append(context[i])
                .append(": ")
                .append(context[i + 1]);
        }
        if (context.length > 1) {
            text.append(')');
        }
        if (advice != null) {
            text.append("; ").append(advice);
        }
        return new FarcallException(kind, text.toString(), operation, advice, false);
    }

    /** The same error, as thrown by another thread than the one that met it: its cause is the
     * original. */
    FarcallException again() {
        FarcallException made =
            new FarcallException(kind, getMessage(), operation, advice, retryable);
        made.initCause(getCause() == null ? this : getCause());
        return made;
    }
}
