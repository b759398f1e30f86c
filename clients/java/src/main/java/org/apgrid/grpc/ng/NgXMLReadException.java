// That an interface could not be read.
package org.apgrid.grpc.ng;

/** A failure to read an interface; nothing throws it. */
public class NgXMLReadException extends NgException {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NgXMLReadException() {}

    /** One in these words. */
    public NgXMLReadException(String words) {
        super(words);
    }

    /** One for what was caught. */
    public NgXMLReadException(Exception caught) {
        super(caught);
    }

    /** One in these words, for what was caught. */
    public NgXMLReadException(String words, Exception caught) {
        super(words, caught);
    }

    /** One with the number that grpc.h has for it, and what was caught, or null. */
    public NgXMLReadException(int code, String words, Exception caught) {
        super(code, words, caught);
    }
}
