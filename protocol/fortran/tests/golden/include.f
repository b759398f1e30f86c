      SUBROUTINE STEP(N,U,WORK)
      INCLUDE 'sizes.inc'
      REAL*8 U(N), WORK(NMAX)
      INTEGER N
      RETURN
      ENTRY AGAIN(N,U)
      END
      SUBROUTINE GUESS(X,Y)
      INCLUDE 'missing.inc'
      REAL*8 Y(MMAX)
      END
      SUBROUTINE SURE(X)
      INCLUDE 'missing.inc'
      REAL*8 X
      END
