*> \brief DSCAL
      SUBROUTINE DSCAL(N,DA,DX,INCX)
*     .. Scalar Arguments ..
      DOUBLE PRECISION DA
      INTEGER INCX,N
*     .. Array Arguments ..
      DOUBLE PRECISION DX(*)
      DO 10 I = 1,N
   10 DX(I) = DA*DX(I)
      END
      SUBROUTINE LINES(N, A, LDA, TRANS,
     $                 B)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      CHARACTER TRANS
      DIMENSION A(LDA,N), B(N)
      B(1) = A(1,1)
      END
      REAL*8 FUNCTION AREA(N, X)
      INTEGER N
      REAL*8 X(N)
      AREA = SUM(X)
      END
