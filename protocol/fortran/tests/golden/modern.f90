! What newer sources have: abstract interfaces, functions that are passed, submodules, words of the
! interface language as names.
module passing
  use, intrinsic :: iso_fortran_env, only: dp => real64
  implicit none
  integer, parameter :: wp = selected_real_kind(p=15, r=307)
  abstract interface
    pure function curve(x) result(y)
      import :: wp
      real(wp), intent(in) :: x
      real(wp) :: y
    end function
    real(dp) function energy(x, scale)
      import dp
      real(dp), contiguous, target :: x(:, :)
      integer, value :: scale
    end function
    subroutine look(step, n, x)
      import
      integer, intent(in) :: step, n
      real(wp), intent(in) :: x(n)
    end subroutine
    logical(1) function stops(step) bind(C)
      integer, value :: step
    end function
  end interface
  interface
    module subroutine shift(n, x)
      integer, intent(in) :: n
      real(wp), intent(inout) :: x(n)
    end subroutine
  end interface
end module

module numerics
  use passing, only: wp, line => curve, energy, look, stops, shift
  implicit none
contains
  function integrate(f, a, b, n) result(total)
    procedure(line) :: f
    real(wp), intent(in) :: a, b
    integer, intent(in) :: n
    real(wp) :: total
    integer :: i
    total = 0
    do i = 1, n
      total = total + f(a + (i - 0.5_wp) * (b - a) / n) * (b - a) / n
    end do
  end function

  ! Calls back twice over: a function of an array, and one that says when to stop.
  subroutine slide(x, of, report, stop, lowest)
    real(wp), intent(inout) :: x(:, :)
    procedure(energy) :: of
    procedure(look) :: report
    procedure(stops) :: stop
    real(wp), intent(out) :: lowest
    integer :: step
    do step = 1, 10
      x = x / 2
      call report(step, size(x), reshape(x, [size(x)]))
      lowest = of(x, step)
      if (stop(step)) exit
    end do
  end subroutine

  subroutine own(f, y)
    interface
      function f() result(y)
        integer :: y
      end function
    end interface
    integer, intent(out) :: y
    y = f()
  end subroutine

  function label(i) result(text)
    integer, intent(in) :: i
    character(len=8) :: text
    write (text, '(i8)') i
  end function

  subroutine words(mode_in, const, x, half)
    integer, intent(in) :: mode_in, const
    real(wp), intent(in) :: x(:)
    real(wp), intent(out) :: half(size(x, dim=1)&
      &)
    half = x(:) * (mode_in + const) / 2
  end sub&
      &routine

  ! Constants of which one rests on the other, in one statement.
  subroutine powers(x, counts)
    integer, parameter :: sp = kind(1.0), mine = sp, long = selected_int_kind(18), most = 3, &
        more = most**2 - 1, kept = kind(1_long)
    real(mine), intent(inout) :: x(most, more)
    integer(kept), intent(out) :: counts(0:more/most)
    x = 2 * x
    counts = more
  end subroutine

end module

submodule (passing) body
contains
  module procedure shift
    x = x + n
  end procedure
end submodule

subroutine by_value(n, x) bind(C, name="by_value_c")
  use iso_c_binding
  integer(c_int), value :: n
  real(c_double), intent(inout) :: x(n)
  x = x + n
end subroutine

subroutine value_alone(n)
  integer, value :: n
end subroutine

subroutine by_reference(n) bind(C)
  use iso_c_binding
  integer(c_int), intent(in) :: n
end subroutine

subroutine root(f, x)
  interface
    double precision function f(x)
      double precision, intent(in) :: x
    end function
  end interface
  double precision, intent(inout) :: x
  x = f(x)
end subroutine
