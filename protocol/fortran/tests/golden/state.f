      SUBROUTINE SETMAT(R)
      DOUBLE PRECISION R, RHO
      COMMON /MAT/ RHO
      RHO = R
      END
      SUBROUTINE MASS(V, W)
      DOUBLE PRECISION V, W, RHO
      COMMON /MAT/ RHO
      W = RHO*V
      END
      SUBROUTINE SCRATCH(N, S)
      COMMON /WORK/ T
      T = N
      S = T*T
      END
      SUBROUTINE DRAW(R)
      SAVE ISEED
      DATA ISEED /1/, SCALE /0.5/
      ISEED = MOD(ISEED*16807, 65537)
      R = ISEED*SCALE
      END
      SUBROUTINE PURE(X, Y)
      DATA FACTOR /2.0/
      Y = FACTOR*X
      END
      SUBROUTINE SERIES(X, Y)
      DIMENSION COEF(2)
      DATA COEF /1.0, 0.5/
      Y = POLY(COEF, 2, X)
      END
      FUNCTION POLY(A, N, X)
      DIMENSION A(N)
      POLY = A(1) + A(N)*X
      END
