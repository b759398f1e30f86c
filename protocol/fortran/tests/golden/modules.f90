! Generic names over private procedures, variables of a module, and arrays that must agree.
module shapes
  implicit none
  private
  public :: area, start, next, dot, apart, plus
  real(8) :: step = 1d0
  real(8) :: at
  integer, parameter :: dims = 2
  interface area
    module procedure area_circle, area_box
  end interface
contains
  pure function area_circle(r) result(a)
    real(8), intent(in) :: r
    real(8) :: a
    a = acos(-1d0) * r**2
  end function
  pure function area_box(w, h) result(a)
    real(8), intent(in) :: w, h
    real(8) :: a
    a = w * h
  end function
  subroutine start(x)
    real(8) :: x
    call put(x)
  end subroutine
  subroutine put(x)
    real(8), intent(in) :: x
    at = x
  end subroutine
  subroutine next(x)
    real(8) :: x
    at = at + step
    x = at
  end subroutine
  subroutine dot(x, f, s)
    real(8), intent(in) :: x(:), f(:)
    real(8) :: s
    integer :: i
    s = 0
    do i = 1, size(x)
      s = s + x(i)*f(i)
    end do
  end subroutine
  subroutine apart(x, f, s)
    real(8) :: x(:), f(:)
    real(8) :: s
    integer :: i
    s = 0
    do i = 1, size(x)
      s = s + x(i)
    end do
    do i = 1, size(f)
      s = s + f(i)
    end do
  end subroutine
  subroutine plus(x, y, z)
    real(8) :: x(:,:), y(:,:), z(:)
    z = 0
    y = x + y
  end subroutine
end module
