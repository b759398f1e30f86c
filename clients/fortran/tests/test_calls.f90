! Calls: every type, order of indexes, sections, texts, names, results.
program test_calls
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use check
  implicit none
  type(farcall_server) :: server

  call begin(server)
  call scalars()
  call arrays()
  call results()
  call orders()
  call sections()
  call texts()
  call names()
  call looked_up()
  call objects()
  call large()
  call finish(server)

contains

  subroutine scalars()
    real(real64) :: seen(11)
    call farcall_call(server, 'fortran/scalars', 'N', 2_int16, 3, 4_int64, .true., 5.5, 6.25d0, &
        (7.0, 8.0), (9d0, 1d1), seen)
    call that(all(seen == [78d0, 2d0, 3d0, 4d0, 1d0, 5.5d0, 6.25d0, 7d0, 8d0, 9d0, 10d0]), &
        'scalars of their own types')
    ! As an explicit interface would not, but without loss: other kinds of whole numbers, whole for
    ! real, real for complex.
    call farcall_call(server, 'fortran/scalars', 'n', 2, 3_int64, 4_int8, .false., 5, 6.25, 7, &
        9.0, seen)
    call that(all(seen == [110d0, 2d0, 3d0, 4d0, 0d0, 5d0, 6.25d0, 7d0, 0d0, 9d0, 0d0]), &
        'scalars that convert')
  end subroutine

  subroutine arrays()
    integer(int8) :: a(3) = [1_int8, 2_int8, 3_int8]
    integer(int16) :: b(3) = [1_int16, 2_int16, 3_int16]
    integer(int32) :: c(3) = [1, 2, 3]
    integer(int64) :: d(3) = [1_int64, 2_int64, 3_int64]
    real(real32) :: e(3) = [1.0, 2.0, 3.0]
    real(real64) :: f(3) = [1d0, 2d0, 3d0]
    complex(real32) :: g(3) = [(1.0, -1.0), (2.0, -2.0), (3.0, -3.0)]
    complex(real64) :: h(3) = [(1d0, -1d0), (2d0, -2d0), (3d0, -3d0)]
    logical :: t(3) = [.true., .false., .true.]
    call farcall_call(server, 'fortran/arrays', 3, a, b, c, d, e, f, g, h, t)
    call that(all(a == [2, 3, 4]) .and. all(b == [2, 3, 4]) .and. all(c == [2, 3, 4]) .and. &
        all(d == [2, 3, 4]), 'integers')
    call that(all(e == [2.0, 3.0, 4.0]) .and. all(f == [2d0, 3d0, 4d0]), 'reals')
    call that(all(g == [(2.0, -1.0), (3.0, -2.0), (4.0, -3.0)]), 'complex(4)')
    call that(all(h == [(2d0, -1d0), (3d0, -2d0), (4d0, -3d0)]), 'complex(8)')
    call that(all(t .eqv. [.false., .true., .false.]), 'logicals')
    call farcall_call(server, 'fortran/arrays', 0, a(1:0), b(1:0), c(1:0), d(1:0), e(1:0), f(1:0), &
        g(1:0), h(1:0), t(1:0))
    call that(all(a == [2, 3, 4]), 'arrays without elements')
  end subroutine

  subroutine results()
    integer :: i, m
    integer(int64) :: l
    real(real64) :: d, x(10)
    logical :: t
    l = 41
    call farcall_call(server, 'fortran/outs', i, d, l, t)
    call that(i == 7 .and. d == 0.5d0 .and. l == 42 .and. t, 'results that are scalars')
    x = -1
    call farcall_call(server, 'fortran/some', 10, m, x)
    call that(m == 5 .and. all(x(1:5) == [1d0, 2d0, 3d0, 4d0, 5d0]) .and. all(x(6:) == -1), &
        'a number that the routine says')
  end subroutine

  ! a(i, j) is a[i-1][j-1] in either order of storage.
  subroutine orders()
    real(real64) :: a(2, 3), flat(6), corner
    real(real32) :: cube(2, 3, 4)
    integer :: i, j, l
    a = reshape([11d0, 21d0, 12d0, 22d0, 13d0, 23d0], [2, 3])
    call farcall_call(server, 'fortran/by_columns', 2, 3, a, flat, corner)
    call that(all(flat == [11d0, 21d0, 12d0, 22d0, 13d0, 23d0]) .and. corner == 13, &
        'a parameter that is stored by columns')
    call farcall_call(server, 'fortran/by_rows', 2, 3, a, flat, corner)
    call that(all(flat == [11d0, 12d0, 13d0, 21d0, 22d0, 23d0]) .and. corner == 13, &
        'a parameter that is stored by rows')
    cube = 0
    call farcall_call(server, 'fortran/cube', 2, 3, 4, cube)
    call that(all([(((cube(i, j, l) == i - 1 + 10 * (j - 1) + 100 * (l - 1), i = 1, 2), j = 1, 3), &
        l = 1, 4)]), 'three indexes')
  end subroutine

  subroutine sections()
    real(real64) :: a(5, 6), before(5, 6)
    real(real64), allocatable :: own(:, :)
    integer :: i
    a = reshape([(real(i, real64), i = 1, 30)], [5, 6])
    before = a
    call farcall_call(server, 'fortran/scale', 2, 3, a(2:3, 1:6:2))
    call that(all(a(2:3, 1:6:2) == 2 * before(2:3, 1:6:2)), 'a section')
    before(2:3, 1:6:2) = 2 * before(2:3, 1:6:2)
    call that(all(a == before), 'what is not of it stays')
    call farcall_call(server, 'fortran/scale', 5, 6, a(5:1:-1, 6:1:-1), 3d0)
    call that(all(a == 3 * before), 'a section that goes backwards')
    call farcall_call(server, 'fortran/scale', 1, 6, a(1:1, :), 0d0)
    call that(all(a(1, :) == 0) .and. all(a(2:, :) == 3 * before(2:, :)), 'a row')
    allocate (own(0:4, -1:4), source=a)
    call farcall_call(server, 'fortran/scale', 5, 6, own, 2d0)
    call that(all(own == 2 * a), 'other lower bounds')
    call passed_on(own(1:3, 0:3))
    call that(own(1, 0) == 4 * a(2, 2), 'a section of a dummy argument')
  end subroutine

  subroutine passed_on(a)
    real(real64), intent(inout) :: a(:, :)
    call farcall_call(server, 'fortran/scale', size(a, 1), size(a, 2), a, 2d0)
  end subroutine

  subroutine texts()
    character(len=20) :: greeting, text
    character(len=5) :: short, words(4)
    character(len=:), allocatable :: own
    character(len=200) :: errmsg
    integer :: bytes, stat
    call farcall_call(server, 'fortran/greet', 'world', greeting)
    call that(greeting == 'hello, world', 'a text')
    text = 'fortran'
    call farcall_call(server, 'fortran/greet', text, greeting)
    call that(greeting == 'hello, fortran', 'blanks at the end are no part of it')
    own = 'you'
    call farcall_call(server, 'fortran/greet', own(2:)//'r  ', greeting)
    call that(greeting == 'hello, our', 'an expression')
    call farcall_call(server, 'fortran/greet', 'world', short, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, farcall_limit_exceeded, 'has 12 characters and was cut off to 5')
    call that(short == 'hello', 'what was cut off')
    text = 'quiet'
    call farcall_call(server, 'fortran/shout', text)
    call that(text == 'QUIET', 'a text that is changed')
    words = [character(len=5) :: 'one', 'three', '', 'two']
    call farcall_call(server, 'fortran/join', 4, words, bytes)
    call that(bytes == 11, 'an array of texts')
    call farcall_call(server, 'fortran/join', 2, words(4:1:-3), bytes)
    call that(bytes == 6, 'a section of texts')
    text = 'characters'
    call farcall_call(server, 'fortran/upper', 20, text)
    call that(text == 'CHARACTERS', 'a text as characters')
    call farcall_call(server, 'fortran/names', 5, 4, words)
    call that(words(1) == 'One' .and. words(2) == 'Three' .and. words(4) == 'Two', &
        'texts as a matrix of characters')
  end subroutine

  subroutine names()
    real(real64) :: a(3, 2), x(6)
    integer :: m
    a = 1
    call farcall_call(server, 'fortran/scale(a)', a)
    call that(all(a == 2), 'what follows from an array is left out, and what has a default')
    call farcall_call(server, 'fortran/scale( by , a )', 0.5d0, a)
    call that(all(a == 1), 'names in any order')
    call farcall_call(server, 'fortran/some(x, n, m)', x, 4, m, stat=m)
    call farcall_call(server, 'fortran/scale()', 3, 2, a)
    call that(all(a == 2), 'empty parentheses, as in GridRPC')
    call farcall_call(server, 'scale', 3, 2, a)
    call that(all(a == 4), 'without the module')
    call farcall_call(server, 'FORTRAN/Scale(A, BY)', a, 0.5d0)
    call that(all(a == 2), 'names in any case')
    call farcall_call(server, 'fortran/many', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, &
      16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, m)
    call that(m == 496, '32 arguments')
  end subroutine

  subroutine looked_up()
    type(farcall_routine) :: scale
    type(farcall_server) :: same
    character(len=:), allocatable :: text
    real(real64) :: a(3, 2)
    a = 1
    call farcall_lookup(scale, server, 'fortran/scale(a, by)')
    call farcall_call(scale, a, 3d0)
    call farcall_call(scale, a, 3d0)
    call that(all(a == 9), 'a routine that was looked up')
    call farcall_help(scale, text)
    call that(index(text, 'a = by * a') > 0, 'its page')
    call farcall_close(scale)
    call farcall_list(server, text)
    call that(index(text, '"fortran/by_rows"') > 0, 'all interfaces')
    call farcall_address(server, text)
    call that(index(text, 'unix:') == 1, 'the address')
    call farcall_connect(same, text, timeout=30d0)
    call farcall_call(same, 'fortran/scale(a, by)', a, 0d0)
    call that(all(a == 0), 'another connection')
    call farcall_close(same)
    call farcall_close(same)
  end subroutine

  subroutine objects()
    type(farcall_object) :: one, several(3)
    integer :: now(3), i
    call farcall_hold(one, server, 'fortran/Counter')
    call farcall_call(one, 'add', 5, now(1))
    call farcall_call(one, 'add(now, by)', now(2), 3)
    call that(now(1) == 5 .and. now(2) == 8, 'an object keeps its state')
    call farcall_hold(several, server, 'fortran/Counter', lease=60d0)
    call farcall_ready(several(1), timeout=60d0)
    do i = 1, 3
      call farcall_call(several(i), 'add', i, now(i))
    end do
    call that(all(now == [1, 2, 3]), 'several have one each')
    call farcall_close(several)
    call farcall_close(one)
  end subroutine

  subroutine large()
    integer, parameter :: n = 8 * 1024**2
    real(real64), allocatable :: x(:), y(:)
    integer :: i
    allocate (x(n), y(n))
    do i = 1, n
      x(i) = i
    end do
    call farcall_call(server, 'fortran/big', n, x, y)
    call that(all(y == 2 * x), '64 MiB there and back')
    y = 0
    call farcall_call(server, 'fortran/big', n / 2, x(1:n:2), y(2:n:2))
    call that(all(y(2:n:2) == 2 * x(1:n:2)) .and. all(y(1:n:2) == 0), 'every other element of it')
  end subroutine

end program
