! The Fortran side of fortran.idl.
subroutine fscale(m, n, factor, a)
  integer :: m, n
  double precision :: factor, a(m, n)
  integer :: j
  do j = 1, n
    a(:, j) = factor * a(:, j) + j
  end do
end subroutine

subroutine fname(mode, text, n, answer, length)
  character :: mode
  character(*) :: text, answer
  integer :: n, length
  length = len(text)
  answer = mode // ':' // text
  if (n /= len(text)) length = -1
end subroutine

subroutine ftext(text, length)
  character(*) :: text
  integer :: length
  length = len(text)
end subroutine

double precision function fdouble(x)
  double precision :: x
  fdouble = 2 * x
end function

real function fsingle(x)
  real :: x
  fsingle = 2 * x
end function

integer function finteger(x)
  integer :: x
  finteger = 2 * x
end function

complex(kind(1d0)) function fcomplex(x)
  complex(kind(1d0)) :: x
  fcomplex = x * (0d0, 1d0)
end function

complex function fscomplex(x)
  complex :: x
  fscomplex = x * (0.0, 1.0)
end function

logical function flogical(x)
  logical :: x
  flogical = .not. x
end function

subroutine fprint(n, done)
  integer :: n, done, i
  do i = 1, n
    print *, 'step', i
  end do
  done = n
end subroutine

! Prints a step, and takes 0.4 s for it.
subroutine fchat(steps)
  integer :: steps
  integer(8) :: begun, now, rate
  integer :: i
  do i = 1, steps
    print *, 'step', i
    call system_clock(begun, rate)
    do
      call system_clock(now)
      if (now - begun > 4 * rate / 10) exit
    end do
  end do
end subroutine
