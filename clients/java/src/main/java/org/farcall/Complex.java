// One complex number.
package org.farcall;

/** A complex number as an argument or a result that is not an array; arrays of them are pairs in
 * double[] or float[]. */
public record Complex(double real, double imaginary) {}
