! The Fortran client under measurement, and in the same program the calls in C that it is compared
! with (native.c).
!
! Usage: farcall-bench-client-fortran ADDRESS
!
! pingpong COUNT         seconds per farcall_call of two scalars
! native COUNT           the same in C
! roundtrip BYTES        seconds for an array there and back
! native-roundtrip BYTES the same in C
program bench_client
  use, intrinsic :: iso_fortran_env, only: int64, output_unit, real64
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int64_t, c_null_char
  use farcall
  implicit none

  interface
    subroutine native_begin(address) bind(C)
      import
      character(kind=c_char), intent(in) :: address(*)
    end subroutine
    function native_pingpong(count) result(seconds) bind(C)
      import
      integer(c_int), value :: count
      real(c_double) :: seconds
    end function
    function native_roundtrip(n, array) result(seconds) bind(C)
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(inout) :: array(n)
      real(c_double) :: seconds
    end function
  end interface

  type(farcall_server) :: server
  real(real64), allocatable :: array(:)
  character(len=256) :: address, line, word
  integer(int64) :: number
  integer :: status

  call get_command_argument(1, address)
  call farcall_connect(server, address)
  call native_begin(trim(address)//c_null_char)
  do
    read (*, '(a)', iostat=status) line
    if (status /= 0) exit
    read (line, *) word, number
    select case (word)
    case ('pingpong')
      print '(f0.12)', pingpong(int(number))
    case ('native')
      print '(f0.12)', native_pingpong(int(number))
    case ('roundtrip')
      call take(number / 8)
      print '(f0.12)', roundtrip()
    case ('native-roundtrip')
      call take(number / 8)
      print '(f0.12)', native_roundtrip(size(array, kind=int64), array)
    case default
      error stop 'farcall-bench-client-fortran: no such command'
    end select
    flush (output_unit)
  end do
  call farcall_close(server)

contains

  real(real64) function now()
    integer(int64) :: count, rate
    call system_clock(count, rate)
    now = real(count, real64) / real(rate, real64)
  end function

  ! The array of both, so that neither has the better place.
  subroutine take(n)
    integer(int64), intent(in) :: n
    if (allocated(array)) then
      if (size(array, kind=int64) == n) return
      deallocate (array)
    end if
    allocate (array(n), source=1d0)
  end subroutine

  real(real64) function pingpong(count)
    integer, intent(in) :: count
    real(real64) :: total, begin
    integer :: index
    total = 0
    begin = now()
    do index = 0, count - 1
      call farcall_call(server, 'bench/add', real(index, real64), 1d0, total)
    end do
    pingpong = (now() - begin) / count
    ! A bench that measures something else than it says is of no use.
    if (nint(total) /= count) error stop 'a wrong sum'
  end function

  real(real64) function roundtrip()
    real(real64) :: begin
    begin = now()
    call farcall_call(server, 'bench/touch', size(array, kind=int64), array)
    roundtrip = now() - begin
    if (nint(array(size(array))) /= 1) error stop 'a wrong array came back'
  end function

end program
