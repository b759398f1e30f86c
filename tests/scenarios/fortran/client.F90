! The scenarios with the Fortran module: `client LIST [NAME]`, at the server that $FARCALL_SERVER names (../README.md).
module procedures
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none

contains

  ! What routines call back.
  subroutine square(x, y)
    real(real64), intent(in) :: x
    real(real64), intent(out) :: y
    y = x * x
  end subroutine

  subroutine rotate(n, x)
    integer, intent(in) :: n
    real(real64), intent(inout) :: x(n)
    x = cshift(x, -1)
  end subroutine

end module

module acts
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use farcall
  use procedures
  use values
  implicit none

  integer, parameter :: arguments_max = 9, kept_max = 64
  real(real64), parameter :: wait_max = 60

  ! What is called: by its name, as an object's method, or to be waited for later.
  integer, parameter :: by_name = 1, on_object = 2, to_start = 3

  type action
    type(argument) :: arguments(arguments_max)
    integer :: count = 0
    real(real64) :: timeout = wait_max
  end type

  ! What a later step names.
  type kept
    character(len=32) :: name = ''
    type(action) :: action
    type(farcall_future) :: future
    type(farcall_object), allocatable :: objects(:)
    integer :: stat = 0
    logical :: is_object = .false.
  end type

  type(farcall_server) :: server
  type(action), target :: pending
  type(kept), target :: slots(kept_max)

  ! Of the call in the making.
  type(action), pointer :: made
  integer :: how, outcome
  character(len=300) :: called
  type(farcall_object) :: callee
  type(farcall_future) :: future
  ! What is wrong is told by its kind; the words are for whoever debugs.
  character(len=400) :: errmsg

contains

  ! Puts argument number k before the others, until all are there; then the call.
  recursive subroutine pass(k, a1, a2, a3, a4, a5, a6, a7, a8, a9)
    integer, intent(in) :: k
    type(*), dimension(..), asynchronous, optional :: a1, a2, a3, a4, a5, a6, a7, a8, a9
    type(argument), pointer :: one
    integer(int8), pointer :: b1(:), b2(:, :), b3(:, :, :)
    integer(int16), pointer :: s1(:), s2(:, :), s3(:, :, :)
    integer(int32), pointer :: i1(:), i2(:, :), i3(:, :, :)
    integer(int64), pointer :: l1(:), l2(:, :), l3(:, :, :)
    real(real32), pointer :: f1(:), f2(:, :), f3(:, :, :)
    real(real64), pointer :: d1(:), d2(:, :), d3(:, :, :)
    complex(real32), pointer :: z1(:), z2(:, :), z3(:, :, :)
    complex(real64), pointer :: w1(:), w2(:, :), w3(:, :, :)
    character(len=text_max), pointer :: texts(:)
    character(kind=c_char), pointer :: letter
    integer(int64) :: whole

! The arguments so far: a ninth place is free until the last one comes.
#define REST a1, a2, a3, a4, a5, a6, a7, a8
! Which elements of the memory are the array's, in this dimension.
#define SECTION(n) one%first(n):one%last(n):one%step(n)
! A number, or an array of one rank, of the type of `x`: as it lies, without a copy.
#define PASS_ONE(x) call c_f_pointer(c_loc(one%memory), x, [1]); call pass(k - 1, x(1), REST)
#define PASS_RANK1(x) \
    call c_f_pointer(c_loc(one%memory), x, one%room(1:1)); \
    call pass(k - 1, x(SECTION(1)), REST)
#define PASS_RANK2(x) \
    call c_f_pointer(c_loc(one%memory), x, one%room(1:2)); \
    call pass(k - 1, x(SECTION(1), SECTION(2)), REST)
#define PASS_RANK3(x) \
    call c_f_pointer(c_loc(one%memory), x, one%room); \
    call pass(k - 1, x(SECTION(1), SECTION(2), SECTION(3)), REST)
! Whichever rank it has.
#define PASS_ALL(x1, x2, x3) select case (one%rank); \
    case (0); PASS_ONE(x1); \
    case (1); PASS_RANK1(x1); \
    case (2); PASS_RANK2(x2); \
    case (3); PASS_RANK3(x3); \
    end select

    if (k == 0) then
      select case (how)
      case (by_name)
        call farcall_call(server, trim(called), a1, a2, a3, a4, a5, a6, a7, a8, a9, &
            timeout=made%timeout, stat=outcome, errmsg=errmsg)
      case (on_object)
        call farcall_call(callee, trim(called), a1, a2, a3, a4, a5, a6, a7, a8, a9, &
            timeout=made%timeout, stat=outcome, errmsg=errmsg)
      case (to_start)
        call farcall_submit(future, server, trim(called), a1, a2, a3, a4, a5, a6, a7, a8, a9, &
            timeout=made%timeout, stat=outcome, errmsg=errmsg)
      end select
      return
    end if
    one => made%arguments(k)
    if (one%function /= '') then
      if (one%function == 'square') call pass(k - 1, farcall_procedure(square), REST)
      if (one%function == 'rotate') call pass(k - 1, farcall_procedure(rotate), REST)
      if (one%function == 'null') call pass(k - 1, farcall_no_procedure, REST)
      return
    end if
    if (is_whole(one) .and. one%mode == 'in' .and. .not. one%is_array .and. one%type /= 'char') then
      ! Whole numbers of any kind do for a scalar; there are no unsigned ones.
      whole = bits_of(one, 0_int64)
      if (one%type(1:3) == 'int' .and. one%bytes < 8) then
        if (btest(whole, 8 * one%bytes - 1)) whole = whole - ishft(1_int64, 8 * one%bytes)
      end if
      call pass(k - 1, whole, REST)
      return
    end if
    ! All others go by their very type.
    select case (one%type)
    case ('char')
      ! A single character is a CHARACTER; those of arrays are bytes, which the interface takes as well.
      if (one%mode == 'in' .and. .not. one%is_array) then
        call c_f_pointer(c_loc(one%memory), letter)
        call pass(k - 1, letter, REST)
      else
        PASS_ALL(b1, b2, b3)
      end if
    case ('int8', 'uint8')
      PASS_ALL(b1, b2, b3)
    case ('int16', 'uint16')
      PASS_ALL(s1, s2, s3)
    case ('int32', 'uint32')
      PASS_ALL(i1, i2, i3)
    case ('int64', 'uint64')
      PASS_ALL(l1, l2, l3)
    case ('float')
      PASS_ALL(f1, f2, f3)
    case ('double')
      PASS_ALL(d1, d2, d3)
    case ('scomplex')
      PASS_ALL(z1, z2, z3)
    case ('dcomplex')
      PASS_ALL(w1, w2, w3)
    case default
      ! Texts, and paths of files.
      texts => one%texts
      if (one%is_array) then
        call pass(k - 1, texts, REST)
      else
        call pass(k - 1, texts(1), REST)
      end if
    end select
  end subroutine

  ! Calls or starts; with names, unless the arguments go by position.
  subroutine act(what, name, of)
    integer, intent(in) :: what
    character(len=*), intent(in) :: name
    type(action), intent(in), target :: of
    integer :: k
    ! The recursion reads these: its own arguments are those of the call.
    made => of
    how = what
    called = name
    if (of%count > 0) then
      if (all(of%arguments(:of%count)%name /= '-')) then
        called = trim(called)//'('
        do k = 1, of%count
          called = trim(called)//merge(', ', '  ', k > 1)//of%arguments(k)%name
        end do
        called = trim(called)//')'
      end if
    end if
    call pass(of%count)
  end subroutine

  ! The names of the kinds, which are their numbers in the module.
  function kind_of(stat) result(words)
    integer, intent(in) :: stat
    character(len=:), allocatable :: words
    character(len=20), parameter :: kinds(21) = [character(len=20) :: 'invalid-argument', &
      'not-found', 'ambiguous', 'permission-denied', 'unreachable', 'connection-lost', 'protocol', &
      'version', 'limit-exceeded', 'timed-out', 'cancelled', 'routine-crashed', 'routine-exited', &
      'routine-failed', 'interface-changed', 'invalid-source', 'unavailable', 'shutting-down', &
      'system', 'internal', 'damaged']
    words = 'error '//trim(kinds(stat))
  end function

  ! The lines of an outcome.
  function told(of, stat) result(lines)
    type(action), intent(in) :: of
    integer, intent(in) :: stat
    character(len=:), allocatable :: lines
    integer :: k
    lines = ''
    ! An error is one line, whatever was to come back.
    if (stat /= farcall_ok) then
      lines = trim(scenario)//': '//kind_of(stat)//new_line('a')
      return
    end if
    do k = 1, of%count
      if (of%arguments(k)%mode /= 'in') lines = &
          lines//trim(scenario)//': '//shown(of%arguments(k))//new_line('a')
    end do
  end function

  ! Arguments in memory of their own, for calls that are under way beside each other.
  function copy_of(from) result(to)
    type(action), intent(in) :: from
    type(action) :: to
    integer :: k
    to = from
    do k = 1, from%count
      to%arguments(k) = copied(from%arguments(k))
    end do
  end function

  ! The memory of all arguments.
  subroutine release(of)
    type(action), intent(inout) :: of
    integer :: k
    do k = 1, of%count
      call give_up(of%arguments(k))
    end do
    of%count = 0
  end subroutine

  ! What has this name; an empty one is free.
  function slot_of(name) result(slot)
    character(len=*), intent(in) :: name
    type(kept), pointer :: slot
    integer :: k
    do k = 1, kept_max
      if (slots(k)%name == name) then
        slot => slots(k)
        return
      end if
    end do
    call wrong('nothing has this name', name)
    nullify (slot)
  end function

  ! Starts; what is wrong is for whoever waits.
  subroutine start(name, routine, of)
    character(len=*), intent(in) :: name, routine
    type(action), intent(in) :: of
    type(kept), pointer :: slot
    slot => slot_of('')
    slot%name = name
    slot%action = of
    call act(to_start, routine, slot%action)
    slot%future = future
    slot%stat = outcome
  end subroutine

  ! The outcome of a call that was started.
  function waited(name) result(lines)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: lines
    type(kept), pointer :: slot
    slot => slot_of(name)
    ! What could not begin has its error already.
    if (slot%stat == farcall_ok) call farcall_wait(slot%future, timeout=wait_max, stat=slot%stat, &
        errmsg=errmsg)
    lines = told(slot%action, slot%stat)
    call release(slot%action)
    slot%name = ''
    slot%stat = 0
  end function

  ! Lines end by themselves.
  subroutine say(lines)
    character(len=*), intent(in) :: lines
    write (*, '(a)', advance='no') lines
  end subroutine

  ! A call with its end.
  subroutine call_and_tell(name)
    character(len=*), intent(in) :: name
    call act(by_name, name, pending)
    call say(told(pending, outcome))
  end subroutine

  ! Calls of one routine, one after the other or all at once: the last outcome, and how many are like it.
  subroutine many(count, routine, at_once)
    integer, intent(in) :: count
    character(len=*), intent(in) :: routine
    logical, intent(in) :: at_once
    type(action) :: of
    character(len=12) :: name
    character(len=1000), allocatable :: outcomes(:)
    integer :: k
    allocate (outcomes(count))
    if (at_once) then
      do k = 1, count
        write (name, '("many", i0)') k
        call start(name, routine, copy_of(pending))
      end do
    end if
    ! The last is waited for first.
    do k = count, 1, -1
      write (name, '("many", i0)') k
      if (at_once) then
        outcomes(k) = waited(name)
      else
        of = copy_of(pending)
        call act(by_name, routine, of)
        outcomes(k) = told(of, outcome)
        call release(of)
      end if
    end do
    call say(trim(outcomes(1)))
    print '(2a, i0, a)', trim(scenario), ': ', size(pack(outcomes, outcomes == outcomes(1))), &
        ' alike'
  end subroutine

  ! Objects of a class, whose beginning takes the arguments; or handles of a routine.
  subroutine hold(name, count, of, is_class)
    character(len=*), intent(in) :: name, of
    integer, intent(in) :: count
    logical, intent(in) :: is_class
    type(kept), pointer :: slot
    type(action) :: none
    integer :: stat
    slot => slot_of('')
    ! All of them in one request.
    allocate (slot%objects(count))
    call farcall_hold(slot%objects, server, of, stat=stat, errmsg=errmsg)
    if (stat == farcall_ok) call farcall_ready(slot%objects(1), timeout=wait_max, stat=stat, &
        errmsg=errmsg)
    if (stat /= farcall_ok) then
      deallocate (slot%objects)
      call say(told(none, stat))
      return
    end if
    slot%name = name
    if (is_class) call method(name, 1, '_initialize')
  end subroutine

  ! A call on one of the objects; without a name, of the routine that is held.
  subroutine method(name, index, of)
    character(len=*), intent(in) :: name, of
    integer, intent(in) :: index
    type(kept), pointer :: slot
    slot => slot_of(name)
    callee = slot%objects(index)
    call act(on_object, of, pending)
    call say(told(pending, outcome))
  end subroutine

  ! Ends objects, and waits until they have.
  subroutine end_of(name)
    character(len=*), intent(in) :: name
    type(kept), pointer :: slot
    type(action) :: none
    integer :: stat
    slot => slot_of(name)
    call farcall_close(slot%objects, stat=stat, errmsg=errmsg)
    call say(told(none, stat))
    deallocate (slot%objects)
    slot%name = ''
  end subroutine

  ! Only whether it comes about.
  subroutine connect(address)
    character(len=*), intent(in) :: address
    type(farcall_server) :: other
    type(action) :: none
    integer :: stat
    call farcall_connect(other, address, stat=stat, errmsg=errmsg)
    call say(told(none, stat))
    call farcall_close(other)
  end subroutine

  ! One action, with the arguments that were gathered.
  subroutine step(what, words)
    character(len=*), intent(in) :: what, words(3)
    integer :: number
    type(kept), pointer :: slot
    ! Its number stands in one of two places.
    number = 0
    select case (what)
    case ('repeat', 'together')
      read (words(1), *) number
    case ('handles', 'handle')
      read (words(2), *) number
    end select
    select case (what)
    case ('call')
      call call_and_tell(words(1))
    case ('repeat', 'together')
      call many(number, words(2), what == 'together')
    case ('start')
      call start(words(1), words(2), copy_of(pending))
    case ('probe')
      slot => slot_of(words(1))
      call say(trim(scenario)//': '//trim(words(1))//merge(' done', ' open', &
          farcall_probe(slot%future))//new_line('a'))
    case ('cancel')
      slot => slot_of(words(1))
      call farcall_cancel(slot%future)
    case ('wait')
      call say(waited(words(1)))
    case ('object')
      call hold(words(1), 1, 'scenarios/'//words(2), .true.)
    case ('handles')
      call hold(words(1), number, words(3), .false.)
    case ('handle')
      call method(words(1), number + 1, '')
    case ('method')
      call method(words(1), 1, words(2))
    case ('end')
      call end_of(words(1))
    case ('connect')
      call connect(words(1))
    case default
      call wrong('no such step', what)
    end select
    call release(pending)
    pending%timeout = wait_max
  end subroutine

end module

program client
  use acts
  implicit none
  character(len=400) :: list, line
  character(len=64) :: only, first, words(3)
  integer :: unit, status
  logical :: is_left_out

  call get_command_argument(1, list)
  call get_command_argument(2, only)
  ! Files lie where the program runs.
  folder = '.'
  call farcall_connect(server)
  is_left_out = .false.
  open (newunit=unit, file=trim(list), status='old')
  do
    read (unit, '(a)', iostat=status) line
    if (status /= 0) exit
    call read_line()
  end do
  close (unit)
  call farcall_close(server)

contains

  ! The scenario runs as it is read.
  subroutine read_line()
    integer :: k
    if (line == '' .or. line(1:1) == '#' .or. line(1:1) == '=') return
    first = next_word(line)
    if (first == 'scenario') then
      scenario = trim(line)
      is_left_out = only /= '' .and. only /= scenario
      return
    end if
    if (first == 'not' .and. index(line, 'fortran ') == 1) is_left_out = .true.
    if (is_left_out .or. first == 'not') return
    select case (first)
    case ('timeout')
      read (line, *) pending%timeout
    case ('in', 'inout', 'out')
      pending%count = pending%count + 1
      pending%arguments(pending%count) = read_argument(trim(first), line)
    case ('callback')
      pending%count = pending%count + 1
      pending%arguments(pending%count) = argument(mode='in', name=next_word(line), &
          function=next_word(line))
    case default
      do k = 1, 3
        words(k) = next_word(line)
      end do
      call step(trim(first), words)
    end select
  end subroutine

end program
