! Procedures of no module that are given functions.
subroutine solve(n, x, f, tol, info)
  implicit none
  integer, intent(in) :: n
  double precision, intent(inout) :: x(n)
  interface
    double precision function f(n, x)
      integer, intent(in) :: n
      double precision, intent(in) :: x(n)
    end function
  end interface
  double precision, intent(in) :: tol
  integer, intent(out) :: info
  info = 0
  if (f(n, x) < tol) info = 1
end subroutine

subroutine walk(stop, wave)
  interface
    logical function stop(step)
      integer, intent(in) :: step
    end function
    complex function wave(t)
      real, intent(in) :: t
    end function
  end interface
  print *, stop(1), wave(1.0)
end subroutine

subroutine named(text, pure_one)
  interface
    character(len=8) function text(k)
      integer, intent(in) :: k
    end function
    pure real function pure_one(k)
      integer, intent(in) :: k
    end function
  end interface
  print *, text(1), pure_one(2)
end subroutine

subroutine old(a, b, f, g, y)
  double precision a, b, f, y
  external f, g
  y = f(a) + f(b)
  call g(y)
end subroutine

real(kind=8) function typed(x)
  real(kind=8), intent(in) :: x
  typed = 2 * x
end function
