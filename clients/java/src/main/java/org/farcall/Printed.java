// What a routine prints.
package org.farcall;

/**
 * What a routine printed while it ran, cut anywhere.
 *
 * @param text what it wrote
 * @param error whether it wrote to its standard error and not to its standard output
 */
public record Printed(String text, boolean error) {}
