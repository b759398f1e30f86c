! Calls under way: waiting, looking, cancelling; procedures that routines call back.
module procedures
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer :: heard = 0
  character(len=20) :: words = ''

contains

  subroutine square(n, x, y)
    integer, intent(in) :: n
    real(real64), intent(in) :: x(n)
    real(real64), intent(out) :: y(n)
    y = x**2
  end subroutine

  function twice(x) result(y)
    real(real64), intent(in) :: x
    real(real64) :: y
    y = 2 * x
  end function

  subroutine hear(i, word, total)
    integer, intent(in) :: i
    character(len=*), intent(in) :: word
    integer, intent(inout) :: total
    heard = heard + 1
    words = trim(words)//word(1:1)
    total = total + i
  end subroutine

end module

program test_async
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use check
  use procedures
  implicit none
  type(farcall_server) :: server

  call begin(server)
  call waiting()
  call any_of_them()
  call given_up()
  call called_back()
  call objects()
  call finish(server)

contains

  subroutine waiting()
    type(farcall_future) :: future
    integer, asynchronous :: done
    character(len=20), asynchronous :: greeting
    real(real64), asynchronous :: a(4, 4)
    character(len=200) :: errmsg
    integer :: stat
    done = 0
    call farcall_submit(future, server, 'fortran/pause', 0.3d0, done)
    call farcall_wait(future, timeout=0.01d0, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_pending, 'not over yet')
    do while (.not. farcall_probe(future))
    end do
    call farcall_wait(future)
    call that(done == 1, 'a call that was submitted')
    call farcall_wait(future, stat=stat)
    call that(stat == farcall_invalid_argument, 'it is waited for once')
    call that(farcall_probe(future), 'who looks at no call need not wait')
    call farcall_submit(future, server, 'fortran/greet', 'later', greeting)
    call farcall_wait(future)
    call that(greeting == 'hello, later', 'a text that comes later')
    a = 1
    call farcall_submit(future, server, 'fortran/scale(a)', a(1:4:2, 2:3))
    call farcall_wait(future, timeout=60d0)
    call that(all(a(1:4:2, 2:3) == 2) .and. sum(a) == 20, 'a section')
    call farcall_submit(future, server, 'fortran/scale(a)', 1, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'is integer(4), the interface wants real(8)')
  end subroutine

  subroutine any_of_them()
    type(farcall_future) :: futures(3)
    integer, asynchronous :: done(3)
    integer :: which, stat
    call farcall_submit(futures(1), server, 'fortran/pause', 5d0, done(1))
    call farcall_submit(futures(2), server, 'fortran/pause', 0.05d0, done(2))
    call farcall_wait_any(futures, which)
    call that(which == 2, 'the first of two')
    call farcall_wait(futures(2))
    call farcall_wait_any(futures, which, timeout=0.02d0, stat=stat)
    call that(which == 0 .and. stat == farcall_pending, 'none by then')
    call farcall_cancel(futures(1))
    call farcall_wait_any(futures, which)
    call farcall_wait(futures(1), stat=stat)
    call that(which == 1 .and. stat == farcall_cancelled, 'one that was cancelled')
    call farcall_wait_any(futures, which)
    call that(which == 0, 'none is left')
  end subroutine

  subroutine given_up()
    type(farcall_future) :: future
    integer, asynchronous :: done
    integer :: stat
    call farcall_submit(future, server, 'fortran/pause', 30d0, done, timeout=0.05d0)
    call farcall_wait(future, stat=stat)
    call that(stat == farcall_timed_out, 'one whose time was over')
    call farcall_submit(future, server, 'fortran/pause', 30d0, done, run_timeout=0.2d0)
    call farcall_wait(future, stat=stat)
    call that(stat == farcall_timed_out, 'one whose routine ran too long')
    call farcall_submit(future, server, 'fortran/pause', 30d0, done)
    call farcall_close(future)
    call farcall_close(future)
    call farcall_submit(future, server, 'fortran/fails')
    call farcall_wait(future, stat=stat)
    call that(stat == farcall_routine_crashed, 'one that crashed')
  end subroutine

  subroutine called_back()
    type(farcall_future) :: future
    real(real64) :: area
    integer, asynchronous :: total
    character(len=200) :: errmsg
    integer :: stat
    call farcall_call(server, 'fortran/integrate', 0d0, 3d0, 100, area, farcall_procedure(square))
    call that(abs(area - 9) < 1d-3, 'a procedure of a module')
    call farcall_call(server, 'fortran/after', 3d0, area, farcall_function(twice))
    call that(area == 7, 'a function')
    call farcall_call(server, 'fortran/tell', 4, total, farcall_procedure(hear))
    call that(total == 10 .and. heard == 4 .and. words == 'oeoe', &
        'integers by reference, and a text')
    call farcall_submit(future, server, 'fortran/tell', 3, total, farcall_procedure(hear))
    call farcall_wait(future)
    call that(total == 6 .and. heard == 7, 'while it is waited for')
    call farcall_call(server, 'fortran/integrate', 0d0, 1d0, 10, area, stat=stat, errmsg=errmsg)
    call that(stat /= farcall_ok, 'a procedure that is missing')
  end subroutine

  subroutine objects()
    type(farcall_object) :: counter
    type(farcall_future) :: futures(10)
    integer, asynchronous :: now(10)
    integer :: i
    call farcall_hold(counter, server, 'fortran/Counter')
    do i = 1, 10
      call farcall_submit(futures(i), counter, 'add', 1, now(i))
    end do
    do i = 10, 1, -1
      call farcall_wait(futures(i))
    end do
    call that(all(now == [(i, i = 1, 10)]), 'calls on an object run in order')
    call farcall_close(counter)
  end subroutine

end program
