! What the tests of the Fortran client share: counting, and a private server with the routines of
! fortran.idl.
module check
  use, intrinsic :: iso_fortran_env, only: output_unit
  use farcall
  implicit none
  integer :: passed = 0, failed = 0

contains

  subroutine that(fine, what)
    logical, intent(in) :: fine
    character(len=*), intent(in) :: what
    if (fine) then
      passed = passed + 1
    else
      failed = failed + 1
      print '(2a)', 'FAIL ', what
    end if
  end subroutine

  ! An error of this kind, whose words have this text in them.
  subroutine refused(stat, errmsg, kind, text)
    integer, intent(in) :: stat, kind
    character(len=*), intent(in) :: errmsg, text
    call that(stat == kind .and. index(errmsg, text) > 0, text)
    if (stat /= kind .or. index(errmsg, text) == 0) print '(a, i0, 2a)', '    status ', stat, &
        ', ', trim(errmsg)
  end subroutine

  subroutine begin(server)
    type(farcall_server), intent(inout) :: server
    ! The tests run at the top of the repository.
    call farcall_serve(server, 'clients/fortran/tests/fortran.idl')
  end subroutine

  subroutine finish(server)
    type(farcall_server), intent(inout) :: server
    call farcall_close(server)
    print '(i0, a, i0, a)', passed, ' passed, ', failed, ' failed'
    flush (output_unit)
    if (failed > 0) error stop
  end subroutine

end module
