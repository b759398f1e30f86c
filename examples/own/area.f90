! area.f90: the area under a curve, by trapezoids
subroutine area(n, x, y, total)
  integer, intent(in) :: n
  double precision, intent(in) :: x(n), y(n)
  double precision, intent(out) :: total
  total = sum((x(2:n) - x(1:n-1)) * (y(2:n) + y(1:n-1))) / 2
end subroutine
