// How a call is doing.
package org.farcall;

/**
 * How a call is doing.
 *
 * @param started whether the routine runs; before, the call waits in the server's queue
 * @param before calls that are before it in the queue
 * @param done the part that is done, from 0 to 1; NaN until the routine says so
 * @param text a word of the routine on it, or ""
 */
public record Progress(boolean started, int before, double done, String text) {}
