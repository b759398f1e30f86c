// That something could not be read or written.
package org.apgrid.grpc.ng;

/** A failure to read or write; nothing throws it. */
public class NgIOException extends NgException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgIOException() {}

    /** One in these words. */
    public NgIOException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgIOException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgIOException(String words, Exception caught) {
        super(words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgIOException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
