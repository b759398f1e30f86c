! Wrong arguments, names and places: each is told by stat and errmsg, and harms nothing.
program test_wrong
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use check
  implicit none
  type(farcall_server) :: server, none
  character(len=400) :: errmsg
  integer :: stat

  call begin(server)
  call types()
  call shapes(3)
  call order()
  call places()
  call ends()
  call given()
  call finish(server)

contains

  ! What calls ask for, in the words of every client.
  subroutine given()
    type(farcall_routine) :: routine, unset
    type(farcall_object) :: handle
    real(real64) :: f(3)
    f = 1
    call farcall_lookup(routine, server, 'fortran/scale(a)')
    call farcall_give(routine, 'cores=1, memory=2 GB', stat=stat, errmsg=errmsg)
    call that(stat == farcall_ok, 'a routine is given cores and memory')
    call farcall_call(routine, f, stat=stat, errmsg=errmsg)
    call that(stat == farcall_ok, 'and its call has them')
    call farcall_give(routine, 'cores=0')
    call farcall_call(routine, f, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'cores is "0", which is not a number of cores')
    call farcall_give(routine, 'gpus=1')
    call farcall_call(routine, f, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_limit_exceeded, 'this server has none')
    call farcall_give(unset, 'cores=1', stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'use farcall_lookup first')
    call farcall_hold_given(handle, server, 'fortran/scale', 'memory=2 GX', stat=stat, &
        errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'memory is "2 GX"')
    call farcall_hold_given(handle, server, 'fortran/scale', 'cores=1', stat=stat, errmsg=errmsg)
    call that(stat == farcall_ok, 'handles are given cores')
    call farcall_close(handle)
    call farcall_close(routine)
  end subroutine

  subroutine types()
    integer :: i
    integer(int64) :: l(3), m
    real(real32) :: e(3)
    real(real64) :: f(3), x(2, 2)
    logical :: t
    logical(1) :: small(3)
    real(real64), parameter :: fixed(2) = [3d0, 5d0]
    character(kind=selected_char_kind('ISO_10646'), len=4) :: wide(2)
    l = 1
    small = .true.
    wide = ''
    e = 1
    f = 1
    call farcall_call(server, 'fortran/scale(a)', e, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'argument 1 (a) is real(4) of rank 1, the interface wants real(8)')
    call farcall_call(server, 'fortran/scale(a)', l, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'is integer(8) of rank 1, the interface wants real(8)')
    call farcall_call(server, 'fortran/scale(a)', 'abc', stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'is character, the interface wants real(8)')
    call farcall_call(server, 'fortran/scale(a)', (1d0, 2d0), stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'is complex(8), the interface wants real(8)')
    call farcall_call(server, 'fortran/outs', l, f(1), m, t, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'argument 1 (i) is integer(8) of rank 1, the interface wants integer(4)')
    call that(index(errmsg, '-fdefault-integer-8') > 0, 'options that change kinds are named')
    call farcall_call(server, 'fortran/by_columns', 2.5, 2, x, f, f(1), stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'argument 1 (m) is real(4), the interface wants integer(4)')
    call farcall_call(server, 'fortran/pause', 3_int64, i, stat=stat, errmsg=errmsg, timeout=0.05d0)
    call refused(stat, errmsg, farcall_timed_out, 'fortran/pause')
    call farcall_call(server, 'fortran/pause', 3d1, i, stat=stat, errmsg=errmsg, run_timeout=0.1d0)
    call refused(stat, errmsg, farcall_timed_out, 'run_timeout: 0.1 s')
    call farcall_call(server, 'fortran/pause', 0d0, i, stat=stat, errmsg=errmsg, run_timeout=-1d0)
    call refused(stat, errmsg, farcall_invalid_argument, 'the run_timeout is negative')
    call farcall_call(server, 'fortran/by_columns', huge(1_int64), 2, x, f, f(1), stat=stat, &
        errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'm')
    call farcall_call(server, 'fortran/greet', 5, errmsg, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'argument 1 (name) is integer(4), the interface wants a text')
    call farcall_call(server, 'fortran/scale(a)', fixed, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'pass a variable, not a constant')
    call farcall_call(server, 'fortran/big', 2, fixed, f(1:2), stat=stat, errmsg=errmsg)
    call that(stat == farcall_ok .and. all(f(1:2) == 2 * fixed), 'a constant as an argument')
    f = 1
    call farcall_call(server, 'fortran/integrate', 0d0, 1d0, 10, f(1), 7, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'argument 5 (f) is integer(4), the interface wants a procedure')
    call farcall_call(server, 'fortran/scalars(c)', 'no', stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'wants one character')
    call farcall_call(server, 'fortran/arrays(t)', small, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'is logical(1) of rank 1, the interface wants logical(4)')
    call farcall_call(server, 'fortran/join', 2, wide, i, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'argument 2 (words) is of a type that cannot be passed')
    call that(all(l == 1) .and. all(e == 1) .and. all(f == 1), 'nothing was written')
  end subroutine

  subroutine shapes(n)
    integer, intent(in) :: n
    real(real64) :: a(2, n), flat(6), corner
    a = 0
    call farcall_call(server, 'fortran/by_columns', 3, 2, a, flat, corner, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'a has shape (2, 3) but the interface wants a[m][n]: m = 3 as given')
    call farcall_call(server, 'fortran/by_columns', 2, 3, a, flat(1:5), corner, stat=stat, &
        errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'flat')
    call farcall_call(server, 'fortran/by_columns', [2, 3], 3, a, flat, corner, stat=stat, &
        errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'argument 1 (m) is integer(4) of rank 1, the interface wants a scalar')
    call farcall_call(server, 'fortran/scale(a)', reshape([1d0, 2d0], [1, 1, 2]), stat=stat, &
        errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'of rank 3, the interface wants an array of rank 2')
    call assumed_size(a)
  end subroutine

  subroutine assumed_size(a)
    real(real64) :: a(*)
    call farcall_call(server, 'fortran/scale(a)', a, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'pass a section of it with an upper bound')
    call farcall_call(server, 'fortran/scale(a)', a(1:6), stat=stat, errmsg=errmsg)
    call that(stat == farcall_ok, 'such a section')
  end subroutine

  subroutine order()
    real(real64), pointer :: nowhere(:, :) => null()
    real(real64) :: a(2, 2)
    a = 0
    call farcall_call(server, 'fortran/scale', 2, 2, a, 1d0, 5, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'it takes 4 arguments (m, n, a, by), not 5')
    call farcall_call(server, 'fortran/scale', 2, 2, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'scale needs a: not given')
    call farcall_call(server, 'fortran/scale(a, b)', a, 1d0, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        'it has no argument "b"; its arguments are m, n, a, by')
    call farcall_call(server, 'fortran/scale(a, by)', a, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, &
        '1 arguments for 2 names (a, by); pass one for each')
    call farcall_call(server, 'fortran/scale(a, a)', a, a, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'argument "a" is named twice')
    call farcall_call(server, 'fortran/scale(a', a, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'no closing parenthesis')
    call farcall_call(server, 'fortran/scale', 2, 2, nowhere, 1d0, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'argument 3 (a) is absent; allocate it')
  end subroutine

  subroutine places()
    type(farcall_routine) :: routine
    type(farcall_future) :: future
    type(farcall_object) :: object
    type(farcall_server) :: same
    character(len=10) :: short
    call farcall_call(none, 'fortran/scale', 1, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'this farcall_server is not connected')
    call farcall_call(routine, 1, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'this farcall_routine is not set')
    call farcall_call(object, 'add', 1, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'this farcall_object is not set')
    call farcall_wait(future, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'this farcall_future has no running call')
    call farcall_connect(none, 'unix:/nowhere/at/all', stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_unreachable, '/nowhere/at/all')
    call farcall_connect(none, 'nonsense', stat=stat, errmsg=short)
    call that(stat /= farcall_ok .and. short /= '', 'words that are longer than errmsg are cut off')
    call farcall_call(server, 'fortran/scaled', 1, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_not_found, 'scale')
    call farcall_lookup(routine, server, '', stat=stat, errmsg=errmsg)
    call that(stat /= farcall_ok, 'no name')
    call farcall_hold(object, server, 'fortran/Nobody')
    call farcall_ready(object, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_not_found, 'Nobody')
    ! A copy names the same connection, and knows when that is closed.
    call farcall_serve(none, 'clients/fortran/tests/nowhere.idl', stat=stat, errmsg=errmsg)
    call that(stat /= farcall_ok .and. index(errmsg, 'nowhere.idl') > 0, 'a file that is not there')
    same = none
    call farcall_call(same, 'fortran/scale', stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_invalid_argument, 'not connected')
    ! What is closed already stays so, and that is no error.
    stat = 1
    call farcall_close(none, stat=stat, errmsg=errmsg)
    call that(stat == farcall_ok, 'a closed connection')
    stat = 1
    call farcall_close(routine, stat=stat)
    call that(stat == farcall_ok, 'a closed routine')
    stat = 1
    call farcall_close(future, stat=stat)
    call that(stat == farcall_ok, 'a closed call')
  end subroutine

  subroutine ends()
    call farcall_call(server, 'fortran/fails', stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_routine_crashed, 'SIGABRT')
    call farcall_call(server, 'fortran/fails', stat=stat)
    call that(stat == farcall_routine_crashed, 'without errmsg')
  end subroutine

end program
