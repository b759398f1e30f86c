! The module of Fortran programs that call routines on a server: `use farcall`.
! docs/reference/fortran.md describes it.
!
! Variables of its types hold numbers, which belong to objects of the library; copies name the same
! object. All procedures end as Fortran statements do: `stat` becomes 0 or the kind of the error and
! `errmsg` its words; without `stat`, an error ends the program. They may be called by several
! threads at once.
module farcall
  use, intrinsic :: iso_c_binding
  implicit none
  private

  public :: farcall_server, farcall_routine, farcall_future, farcall_object, farcall_callback
  public :: farcall_connect, farcall_serve, farcall_close, farcall_address, farcall_list
  public :: farcall_lookup, farcall_give, farcall_help, farcall_call
  public :: farcall_submit, farcall_wait, farcall_wait_any, farcall_probe, farcall_cancel
  public :: farcall_hold, farcall_hold_given, farcall_ready
  public :: farcall_is_cancelled, farcall_progress
  public :: farcall_procedure, farcall_function

  ! Values of `stat`: kinds of errors (farcall-numbers.h says more of each).
  include 'farcall_numbers.inc'

  ! A connection to a server; a private server ends with it.
  type, bind(C) :: farcall_server
    private
    integer(c_int64_t) :: number = 0
  end type

  ! A routine that was looked up.
  type, bind(C) :: farcall_routine
    private
    integer(c_int64_t) :: number = 0
  end type

  ! A call that was submitted, until its end was waited for.
  type, bind(C) :: farcall_future
    private
    integer(c_int64_t) :: number = 0
  end type

  ! A procedure that is passed, and what tells it from other values of as many bytes (arguments.c).
  ! Not a type(c_funptr): gfortran 12 describes a variable of that by its address, and a function of
  ! it by its value.
  type, bind(C) :: farcall_callback
    private
    integer(c_int64_t) :: mark = int(z'66617263616c6c70', c_int64_t)
    type(c_funptr) :: address = c_null_funptr
  end type

  ! No procedure, for routines that take none.
  type(farcall_callback), parameter, public :: farcall_no_procedure = farcall_callback()

  ! An executable on the server with state of its own.
  type, bind(C) :: farcall_object
    private
    integer(c_int64_t) :: number = 0
  end type

  interface
    ! Connects to an address ("unix:PATH", "tls://HOST:PORT", "farcall://HOST:PORT",
    ! "ssh://USER@HOST"); without one, to $FARCALL_SERVER or this user's default server. Waits for
    ! `timeout` seconds, 30 unless said otherwise.
    subroutine farcall_connect(server, address, token_file, timeout, stat, errmsg) &
        bind(C, name="farcall_fortran_connect")
      import
      type(farcall_server), intent(inout) :: server
      character(kind=c_char, len=*), intent(in), optional :: address, token_file
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! Starts a server of this program's own that publishes the interface file, or what Farcall comes
    ! with, and connects to it.
    subroutine farcall_serve(server, file, stat, errmsg) bind(C, name="farcall_fortran_serve")
      import
      type(farcall_server), intent(inout) :: server
      character(kind=c_char, len=*), intent(in), optional :: file
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! Where the server is.
    subroutine farcall_address(server, address, stat, errmsg) &
        bind(C, name="farcall_fortran_address")
      import
      type(farcall_server), intent(in) :: server
      character(kind=c_char, len=:), allocatable, intent(inout) :: address
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! The interfaces of all routines, as JSON (spec/idl.md, section 7.3).
    subroutine farcall_list(server, json, stat, errmsg) bind(C, name="farcall_fortran_list")
      import
      type(farcall_server), intent(in) :: server
      character(kind=c_char, len=:), allocatable, intent(inout) :: json
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! Finds a routine: "module/name", or "module/name(a, b)" with the names of the arguments that
    ! will be passed.
    subroutine farcall_lookup(routine, server, name, stat, errmsg) &
        bind(C, name="farcall_fortran_lookup")
      import
      type(farcall_routine), intent(inout) :: routine
      type(farcall_server), intent(in) :: server
      character(kind=c_char, len=*), intent(in) :: name
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! What each process of the routine's calls is given from now on: some of
    ! "cores=4, memory=2 GB, gpus=1, wall_time=30 min".
    subroutine farcall_give(routine, resources, stat, errmsg) bind(C, name="farcall_fortran_give")
      import
      type(farcall_routine), intent(in) :: routine
      character(kind=c_char, len=*), intent(in) :: resources
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! A page about a routine.
    subroutine farcall_help(routine, text, stat, errmsg) bind(C, name="farcall_fortran_help")
      import
      type(farcall_routine), intent(in) :: routine
      character(kind=c_char, len=:), allocatable, intent(inout) :: text
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! Waits for the end of a call, for `timeout` seconds if it is given: then `stat` may be
    ! farcall_pending, and the call goes on. Otherwise the future is none any more. `ran_on`: the
    ! name of the server that it ran on.
    subroutine farcall_wait(future, timeout, stat, errmsg, ran_on) &
        bind(C, name="farcall_fortran_wait")
      import
      type(farcall_future), intent(inout) :: future
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
      character(kind=c_char, len=:), allocatable, intent(inout), optional :: ran_on
    end subroutine

    ! Waits until one of the calls is over, and says which: farcall_wait takes its end. 0: none is
    ! under way.
    subroutine farcall_wait_any(futures, which, timeout, stat, errmsg) &
        bind(C, name="farcall_fortran_wait_any")
      import
      type(farcall_future), intent(in) :: futures(:)
      integer(c_int), intent(out) :: which
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    function probe(future) result(over) bind(C, name="farcall_fortran_probe")
      import
      type(farcall_future), intent(in) :: future
      logical(c_bool) :: over
    end function

    ! Asks the server to end a call; farcall_wait tells farcall_cancelled then.
    subroutine farcall_cancel(future, stat, errmsg) bind(C, name="farcall_fortran_cancel")
      import
      type(farcall_future), intent(in) :: future
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! Has the server hold an executable of a class or routine for each of the objects: a scalar, or
    ! all of an array together. `lease`: the seconds that they stay for when the connection is lost.
    subroutine farcall_hold(objects, server, name, lease, stat, errmsg) &
        bind(C, name="farcall_fortran_hold")
      import
      type(farcall_object), dimension(..), intent(inout) :: objects
      type(farcall_server), intent(in) :: server
      character(kind=c_char, len=*), intent(in) :: name
      real(c_double), intent(in), optional :: lease
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! The same of executables that are given what `resources` says, as in farcall_give.
    subroutine farcall_hold_given(objects, server, name, resources, lease, stat, errmsg) &
        bind(C, name="farcall_fortran_hold_given")
      import
      type(farcall_object), dimension(..), intent(inout) :: objects
      type(farcall_server), intent(in) :: server
      character(kind=c_char, len=*), intent(in) :: name
      character(kind=c_char, len=*), intent(in) :: resources
      real(c_double), intent(in), optional :: lease
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! Waits until an object, and all that were made with it, take calls.
    subroutine farcall_ready(object, timeout, stat, errmsg) bind(C, name="farcall_fortran_ready")
      import
      type(farcall_object), intent(in) :: object
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine

    ! In a routine that Farcall runs: 1 if its call is to end, 0 if not, -1 where none runs.
    function farcall_is_cancelled() result(answer) bind(C, name="farcall_is_cancelled")
      import
      integer(c_int) :: answer
    end function

    ! In such a routine: how far it is, from 0 to 1, and a word on it.
    subroutine farcall_progress(done, words) bind(C, name="farcall_fortran_progress")
      import
      real(c_double), intent(in) :: done
      character(kind=c_char, len=*), intent(in), optional :: words
    end subroutine
  end interface

  ! Ends what a variable names: a connection, a routine, a call (its arrays are the program's
  ! again), objects.
  interface farcall_close
    subroutine close_server(it, stat, errmsg) bind(C, name="farcall_fortran_close_server")
      import
      type(farcall_server), intent(inout) :: it
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine
    subroutine close_routine(it, stat, errmsg) bind(C, name="farcall_fortran_close_routine")
      import
      type(farcall_routine), intent(inout) :: it
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine
    subroutine close_future(it, stat, errmsg) bind(C, name="farcall_fortran_close_future")
      import
      type(farcall_future), intent(inout) :: it
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine
    subroutine close_object(it, stat, errmsg) bind(C, name="farcall_fortran_close_object")
      import
      type(farcall_object), dimension(..), intent(inout) :: it
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
    end subroutine
  end interface

  ! Calls, and waits for the end: of what a server has under a name, of a routine, of a method of an
  ! object. Arguments go in the interface's order, as the routine itself takes them; or by the names
  ! that stand behind the routine's. `timeout`: seconds. `run_timeout`: seconds for the routine from
  ! when it begins; the time in the queue does not count. `at`: the server that it is to run on, of
  ! those that the server knows: a name or an address. `ran_on`: the name of the one that it ran on.
  interface farcall_call
    subroutine call_named(callee, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, &
        a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, &
        a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, &
        a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, timeout, stat, &
        errmsg, run_timeout, at, ran_on) &
        bind(C, name="farcall_fortran_call")
      import
      type(farcall_server), intent(in) :: callee
      character(kind=c_char, len=*), intent(in) :: name
      type(*), dimension(..), optional :: a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, &
        a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, &
        a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, &
        a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
      real(c_double), intent(in), optional :: run_timeout
      character(kind=c_char, len=*), intent(in), optional :: at
      character(kind=c_char, len=:), allocatable, intent(inout), optional :: ran_on
    end subroutine
    subroutine call_routine(callee, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, &
        a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, &
        a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, &
        a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, timeout, stat, &
        errmsg, run_timeout, at, ran_on) &
        bind(C, name="farcall_fortran_call_routine")
      import
      type(farcall_routine), intent(in) :: callee
      type(*), dimension(..), optional :: a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, &
        a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, &
        a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, &
        a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
      real(c_double), intent(in), optional :: run_timeout
      character(kind=c_char, len=*), intent(in), optional :: at
      character(kind=c_char, len=:), allocatable, intent(inout), optional :: ran_on
    end subroutine
    subroutine call_object(callee, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, &
        a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, &
        a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, &
        a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, timeout, stat, &
        errmsg, run_timeout, at, ran_on) &
        bind(C, name="farcall_fortran_call_object")
      import
      type(farcall_object), intent(in) :: callee
      character(kind=c_char, len=*), intent(in) :: name
      type(*), dimension(..), optional :: a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, &
        a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, &
        a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, &
        a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
      real(c_double), intent(in), optional :: run_timeout
      character(kind=c_char, len=*), intent(in), optional :: at
      character(kind=c_char, len=:), allocatable, intent(inout), optional :: ran_on
    end subroutine
  end interface

  ! Starts such a call. Arrays must stay as they are until farcall_wait or farcall_close, and be no
  ! expressions; give them the ASYNCHRONOUS attribute.
  interface farcall_submit
    subroutine submit_named(future, callee, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, &
        a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, &
        a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, &
        a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, &
        timeout, stat, errmsg, run_timeout, at) &
        bind(C, name="farcall_fortran_submit")
      import
      type(farcall_future), intent(inout) :: future
      type(farcall_server), intent(in) :: callee
      character(kind=c_char, len=*), intent(in) :: name
      type(*), dimension(..), asynchronous, optional :: a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, &
        a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, &
        a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, &
        a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
      real(c_double), intent(in), optional :: run_timeout
      character(kind=c_char, len=*), intent(in), optional :: at
    end subroutine
    subroutine submit_routine(future, callee, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, &
        a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, &
        a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, &
        a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, timeout, &
        stat, errmsg, run_timeout, at) &
        bind(C, name="farcall_fortran_submit_routine")
      import
      type(farcall_future), intent(inout) :: future
      type(farcall_routine), intent(in) :: callee
      type(*), dimension(..), asynchronous, optional :: a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, &
        a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, &
        a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, &
        a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
      real(c_double), intent(in), optional :: run_timeout
      character(kind=c_char, len=*), intent(in), optional :: at
    end subroutine
    subroutine submit_object(future, callee, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, &
        a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, &
        a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, &
        a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, &
        timeout, stat, errmsg, run_timeout, at) &
        bind(C, name="farcall_fortran_submit_object")
      import
      type(farcall_future), intent(inout) :: future
      type(farcall_object), intent(in) :: callee
      character(kind=c_char, len=*), intent(in) :: name
      type(*), dimension(..), asynchronous, optional :: a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, &
        a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, &
        a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, &
        a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out), optional :: stat
      character(kind=c_char, len=*), intent(inout), optional :: errmsg
      real(c_double), intent(in), optional :: run_timeout
      character(kind=c_char, len=*), intent(in), optional :: at
    end subroutine
  end interface

  ! The same of a function, for a callback that returns a value of its type.
  interface farcall_function
    module procedure function_of_double, function_of_float, function_of_int8, &
        function_of_int16, function_of_int32, function_of_int64, function_of_logical, &
        function_of_bool, function_of_dcomplex, function_of_scomplex
  end interface

contains

  ! A procedure as an argument, for a routine that calls back: its dummy arguments are as the
  ! callback's parameters, none of assumed shape.
  function farcall_procedure(procedure) result(callback)
    external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  function function_of_double(procedure) result(callback)
    real(c_double), external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  function function_of_float(procedure) result(callback)
    real(c_float), external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  function function_of_int8(procedure) result(callback)
    integer(c_int8_t), external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  function function_of_int16(procedure) result(callback)
    integer(c_int16_t), external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  function function_of_int32(procedure) result(callback)
    integer(c_int32_t), external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  function function_of_int64(procedure) result(callback)
    integer(c_int64_t), external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  function function_of_logical(procedure) result(callback)
    logical, external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  function function_of_bool(procedure) result(callback)
    logical(c_bool), external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  function function_of_dcomplex(procedure) result(callback)
    complex(c_double_complex), external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  function function_of_scomplex(procedure) result(callback)
    complex(c_float_complex), external :: procedure
    type(farcall_callback) :: callback
    callback%address = c_funloc(procedure)
  end function

  ! Whether farcall_wait would wait no more.
  function farcall_probe(future) result(over)
    type(farcall_future), intent(in) :: future
    logical :: over
    over = probe(future)
  end function

  ! What the library calls where an error has no `stat`: units are flushed, and the exit status is
  ! 1.
  subroutine stop_with(words, bytes) bind(C, name="farcall_fortran_stop")
    integer(c_size_t), value :: bytes
    character(kind=c_char), intent(in) :: words(bytes)
    character(kind=c_char, len=bytes) :: text
    integer(c_size_t) :: index
    do index = 1, bytes
      text(index:index) = words(index)
    end do
    error stop text
  end subroutine

end module
