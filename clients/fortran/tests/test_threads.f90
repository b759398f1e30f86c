! Threads of OpenMP share a connection, a routine and the table of objects.
program test_threads
  use, intrinsic :: iso_fortran_env, only: real64
  use check
  implicit none
  type(farcall_server) :: server
  type(farcall_routine) :: scale
  real(real64) :: a(50, 20, 4)
  integer :: i, stat, wrong

  call begin(server)
  call farcall_lookup(scale, server, 'fortran/scale(a, by)')
  a = 1
  wrong = 0
  !$omp parallel do private(stat) reduction(+: wrong) num_threads(4) schedule(static, 1)
  do i = 1, 400
    call one(mod(i - 1, 4) + 1, stat)
    if (stat /= farcall_ok) wrong = wrong + 1
  end do
  !$omp end parallel do
  call that(wrong == 0, 'no call failed')
  call that(all(a == 1), 'each had its own array')
  call farcall_close(scale)
  call finish(server)

contains

  subroutine one(which, stat)
    integer, intent(in) :: which
    integer, intent(out) :: stat
    type(farcall_future) :: future
    type(farcall_server) :: none
    call farcall_call(server, 'fortran/scale(a, by)', a(:, :, which), 2d0, stat=stat)
    if (stat /= farcall_ok) return
    call farcall_submit(future, scale, a(1:50:7, :, which), 4d0, stat=stat)
    if (stat /= farcall_ok) return
    call farcall_wait(future, stat=stat)
    if (stat /= farcall_ok) return
    call farcall_call(scale, a(1:50:7, :, which), 0.25d0, stat=stat)
    if (stat /= farcall_ok) return
    call farcall_call(scale, a(:, :, which), 0.5d0, stat=stat)
    call farcall_close(none)
  end subroutine

end program
