! Optional arguments with an INTENT: nobody has to say more of them.
module optional_ones
contains
  subroutine smooth(x, y, weight, ok)
    real(8), intent(in) :: x(:)
    real(8), intent(out) :: y(size(x))
    real(8), intent(in), optional :: weight
    logical, intent(out), optional :: ok
    real(8) :: w
    w = 0.5d0
    if (present(weight)) w = weight
    y = w * x
    if (present(ok)) ok = .true.
  end subroutine
end module
