C     BLANKS DO NOT COUNT, AN EXTENT OF 1 IS ANY, AND WHAT IS CALLED IS A PROCEDURE.
      SUBROUTINELAST1(N,X,Y)
      IMPLICITDOUBLEPRECISION(A-H,O-Z)
      DIMENSIONX(N)
      Y=X(N)
      END
      SUB ROUTINE LAST2(N, X, Y)
      DOUBLE PRECISION X, Y
      DIMENSIONX(N)
      Y = X(N)
      END
      DOUBLEPRECISIONFUNCTIONLAST3(N, X)
      INTEGERN
      DOUBLEPRECISIONX(N)
      LAST3 = X(N)
      END
      SUBROUTINE SUMS(N, X, W, S)
      DIMENSION X(1), W(1,1)
      DOUBLE PRECISION X, W, S
      S = 0.0D0
      DO 10 I = 1, N
        W(I,1) = 2 * X(I)
        S = S + X(I)
   10 CONTINUE
      RETURN
      END
      SUBROUTINE ZERO(F, A, B, R, IER)
      DOUBLE PRECISION F, A, B, R
      IER = 1
      IF (F(A)*F(B) .GT. 0) RETURN
      R = 0.5D0*(A+B)
      IER = 0
      END
      SUBROUTINE OLD(N, X)
      VIRTUAL X(N)
      RECORD /POINT/ N
      X(1) = N
      END
      SUBROUTINE LENGTH(NAME, N)
      CHARACTER*(*) NAME
      INTEGER N
      N = LEN(NAME)
      END
      SUBROUTINE CALLS(N, X, Y, Z, U)
      DIMENSION X(N), Y(N)
      CALL INNER(N, X, Y)
      CALL ELSEWHERE(U)
      READ (5, *, END=20) Z
   20 RETURN
      END
      SUBROUTINE INNER(N, X, Y)
      DIMENSION X(N), Y(N)
      DO 30 I = 1, N
   30 Y(I) = Y(I) + X(I)
      END
