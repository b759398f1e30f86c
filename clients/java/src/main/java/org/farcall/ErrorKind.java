// What can go wrong: the closed set of kinds, with the numbers of enum farcall_status.
package org.farcall;

/** What went wrong. The set is closed; the names and numbers are the same in every language. */
public enum ErrorKind {
    /** Count, type, rank, size, order or value of an argument. */
    INVALID_ARGUMENT(Numbers.INVALID_ARGUMENT),
    /** No such routine, parameter or file. */
    NOT_FOUND(Numbers.NOT_FOUND),
    /** Several modules publish the name. */
    AMBIGUOUS(Numbers.AMBIGUOUS),
    /** Another user's server, or a wrong token. */
    PERMISSION_DENIED(Numbers.PERMISSION_DENIED),
    /** Nobody listens at the address. */
    UNREACHABLE(Numbers.UNREACHABLE),
    /** The connection ended while something was under way, or was closed before. */
    CONNECTION_LOST(Numbers.CONNECTION_LOST),
    /** The server broke the wire protocol. */
    PROTOCOL(Numbers.PROTOCOL),
    /** The server speaks another version. */
    VERSION(Numbers.VERSION),
    /** A named limit of the server or the interface. */
    LIMIT_EXCEEDED(Numbers.LIMIT_EXCEEDED),
    /** The call's time was over. */
    TIMED_OUT(Numbers.TIMED_OUT),
    /** The call was cancelled. */
    CANCELLED(Numbers.CANCELLED),
    /** The routine ended by a signal. */
    ROUTINE_CRASHED(Numbers.ROUTINE_CRASHED),
    /** The routine called exit(). */
    ROUTINE_EXITED(Numbers.ROUTINE_EXITED),
    /** The routine, or a function of the caller's, reported failure itself. */
    ROUTINE_FAILED(Numbers.ROUTINE_FAILED),
    /** The routine was published again: look it up again. */
    INTERFACE_CHANGED(Numbers.INTERFACE_CHANGED),
    /** Mistakes in an interface file. */
    INVALID_SOURCE(Numbers.INVALID_SOURCE),
    /** A library, symbol, compiler or program is missing. */
    UNAVAILABLE(Numbers.UNAVAILABLE),
    /** The server is going away. */
    SHUTTING_DOWN(Numbers.SHUTTING_DOWN),
    /** A system call failed. */
    SYSTEM(Numbers.SYSTEM),
    /** A mistake of Farcall itself: please report it. */
    INTERNAL(Numbers.INTERNAL),
    /** Data came that are not what was sent: their checksum differs. */
    DAMAGED(Numbers.DAMAGED);

    /** Of enum farcall_status. */
    private final int number;

    ErrorKind(int number) {
        this.number = number;
    }

    /** The name that other languages and the command show: "invalid-argument". */
    public String label() {
        return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }

    /** The kind of a number of enum farcall_status; INTERNAL for one that only a later library has.
     */
    static ErrorKind of(int status) {
        for (ErrorKind one : values()) {
            if (one.number == status) {
                return one;
            }
        }
        return INTERNAL;
    }
}
