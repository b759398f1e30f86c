! Heat in a plate.
module heat
  use, intrinsic :: iso_fortran_env, only: dp => real64, int64
  implicit none
  private
  integer, parameter :: wp = selected_real_kind(15, 307), most = 2 * 8
  public :: step, total, rows, label, apply, smooth, fill, negate, guess
  type :: grid
    real(dp), allocatable :: t(:, :)
  end type

contains

  subroutine step(u, dt, steps)
    real(dp), intent(inout) :: u(:, :)   ! temperatures
    real(wp), intent(in) :: dt           !! time step in s
    integer, intent(in) :: steps
    integer :: k
    do k = 1, steps
      u(2:size(u,1)-1, 2:size(u,2)-1) = u(2:size(u,1)-1, 2:size(u,2)-1) + dt
    end do
  end subroutine step

  pure real(dp) function total(u) result(sum_of_all)
    real(dp), intent(in) :: u(:)
    sum_of_all = sum(u)
  end function

  function rows(a, n) result(r)
    integer(int64), intent(in) :: n
    complex(dp), intent(in) :: a(0:n, &
      n)
    complex(dp) :: r(n + 1)
    r = sum(a, dim=2)
  end function

  subroutine label(name, unit, tag, trans)
    character(len=*), intent(in) :: name
    character(len=4), intent(in) :: unit
    character(len=most), intent(out) :: tag
    character, intent(in) :: trans
    tag = name//'['//trim(unit)//']'//trans
  end subroutine

  subroutine apply(n, x, y, f)
    integer, intent(in) :: n
    real, intent(in) :: x(n)
    real, intent(out) :: y(n)
    interface
      subroutine f(m, x, y)
        integer, intent(in) :: m
        real, intent(in) :: x(m)
        real, intent(out) :: y(m)
      end subroutine
    end interface
    call f(n, x, y)
  end subroutine

  subroutine smooth(x, weights, w, invert)
    real(dp) :: x(:)
    integer, intent(in) :: w
    real(dp), intent(in), dimension(2*w+1) :: weights
    logical, intent(in) :: invert
    x = x * sum(weights); if (invert) x = -x
  end subroutine

  subroutine fill(g)
    type(grid), intent(inout) :: g
    g%t = 0
  end subroutine

  elemental subroutine negate(x)
    real(dp), intent(inout) :: x
    x = -x
  end subroutine

  subroutine guess(a, n)
    integer, intent(in) :: n
    real(dp), intent(inout) :: a(n, *)
    a(:, 1) = 0
  end subroutine

  subroutine hidden(x)
    real :: x
  end subroutine
end module
