// The exception of the first Ninf's client for Java.
package ninf.basic;

/** Any failure of a call. Where it comes from Farcall, the cause has the details. */
public class NinfException extends Exception {
    private static final long serialVersionUID = 1L;

    /** One without words. */
    public NinfException() {}

    /** One in these words. */
    public NinfException(String words) {
        super(words);
    }

    /** One in these words, for what was caught. */
    public NinfException(String words, Throwable caught) {
        super(words, caught);
    }
}
