! Says where calls of a metaserver's users run, and has some run at one server: `places SERVER`.
program places
  use farcall
  use iso_c_binding
  implicit none
  type(farcall_server) :: server
  type(farcall_routine) :: routine
  type(farcall_future) :: future
  character(kind=c_char, len=:), allocatable :: ran_on, none
  character(len=2000) :: at, message
  integer(c_int32_t) :: n
  integer(c_int) :: stat

  call get_command_argument(1, at)
  call farcall_connect(server)
  call farcall_call(server, 'where/double_it', 21_c_int32_t, n, ran_on=ran_on)
  print '(a,i0,2a)', 'placed ', n, ' ', ran_on
  call farcall_call(server, 'where/double_it', 4_c_int32_t, n, at=at, ran_on=ran_on)
  print '(a,i0,2a)', 'bound ', n, ' ', ran_on
  call farcall_lookup(routine, server, 'where/double_it')
  call farcall_submit(future, routine, 5_c_int32_t, n, at=at)
  call farcall_wait(future, ran_on=ran_on)
  print '(a,i0,2a)', 'submitted ', n, ' ', ran_on
  call farcall_call(routine, 6_c_int32_t, n, at='unix:/nowhere', ran_on=none, stat=stat, &
    errmsg=message)
  print '(a,l1,1x,l1,1x,a)', 'unknown ', stat == farcall_not_found, allocated(none), trim(message)
  call farcall_close(server)
end program
