      SUBROUTINE SOLVE(FCN, N, X, F, INFO)
      INTEGER N, INFO
      DOUBLE PRECISION X(N), F(N)
      EXTERNAL FCN
      INFO = 0
      CALL FCN(N, X, F, INFO)
      END
      SUBROUTINE EASY(FCN, M, Y, G)
      DOUBLE PRECISION Y(M), G(M)
      CALL SOLVE(FCN, M, Y, G, IERR)
      END
      SUBROUTINE STEPS(F, A, B, S)
      DOUBLE PRECISION F, A, B, S, H
      H = 0.5*(B - A)
      S = F(A) + F(B) + F(A + H)
      END
      SUBROUTINE PARTS(G, W)
      REAL W(2)
      EXTERNAL G
      CALL G(W(1))
      END
      SUBROUTINE ODD(G, W, X)
      REAL W, X(3)
      EXTERNAL G
      CALL G(W)
      CALL G(X)
      END
