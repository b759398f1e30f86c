! What declarations do not say, or what no interface has: each is told with its line, and nothing is
! guessed.
module undecided
  use kinds, only: dp
  use iso_c_binding
  implicit none
  interface either
    module procedure one, two
  end interface
  interface assignment(=)
    module procedure six
  end interface
contains
  subroutine one(x)
    real(dp), intent(in) :: x
  end subroutine
  subroutine two(x, more)
    real(16), intent(in) :: x
    integer, intent(in) :: more(far)
  end subroutine
  subroutine anything(x)
    type(*), intent(in) :: x(..)
  end subroutine
  subroutine three(a, p, r, f, names, *)
    real, allocatable, intent(inout) :: a(:)
    real, pointer :: p(:)
    real, intent(in) :: r(..)
    character(*), intent(in) :: names(:)
    external f
  end subroutine
  function four(n) result(text)
    integer, intent(out) :: n
    character(len=n) :: text
  end function
  subroutine five(name, x, f)
    character(len=*), intent(inout) :: name
    interface
      real function f(x)
        real, intent(in) :: x
      end function
    end interface
  end subroutine
  subroutine six(long, double, n) bind(C)
    integer(c_int), value :: n
    integer(c_long), intent(in), optional :: long(n)
    real(c_double), intent(out) :: double(-n:n, 0:3)
  contains
    subroutine inner(a)
      real :: a
    end subroutine
  end subroutine
  subroutine never(f, g, h)
    procedure(elsewhere) :: f
    procedure() :: g
    interface
      function h(x)
        real, intent(in) :: x
        real :: h(3)
      end function
    end interface
  end subroutine
end module
subroutine outside(a)
  real :: a(:)
  if (a(1) > 0) then; a = 0
  end if
end
program main
  call outside([1.0])
end program
subroutine open_ended(
