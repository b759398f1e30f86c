// A complex number of double precision.
package org.apgrid.grpc.ng;

/** An argument that is `dcomplex` in the interface; arrays of them are Dcomplex[]. */
public class Dcomplex {
    /** Its real part. */
    public double r;
    /** Its imaginary part. */
    public double i;

    /** Zero. */
    public Dcomplex() {}
}
