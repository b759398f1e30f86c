// A complex number of single precision.
package org.apgrid.grpc.ng;

/** An argument that is `scomplex` in the interface; arrays of them are Scomplex[]. */
public class Scomplex {
    /** Its real part. */
    public float r;
    /** Its imaginary part. */
    public float i;

    /** Zero. */
    public Scomplex() {}
}
