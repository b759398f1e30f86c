! The scenarios' lines: arguments, the memory that they lie in, and how results are shown (../README.md).
module values
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan, ieee_is_finite
  implicit none

  integer, parameter :: text_max = 200, shown_max = 32, turns = 61
  character(len=64) :: scenario = '', folder = ''

  type argument
    character(len=8) :: mode = ''
    character(len=32) :: name = ''
    character(len=12) :: type = ''
    integer :: rank = 0, bytes = 0
    logical :: is_array = .false.
    ! Extents; those of the memory that the array lies in; and which of its elements are the array's, in each dimension.
    integer(int64) :: shape(3) = 1, room(3) = 1, first(3) = 1, last(3) = 1, step(3) = 1
    integer(int8), pointer :: memory(:) => null()
    character(len=text_max), pointer :: texts(:) => null()
    character(len=12) :: function = ''
  end type

contains

  ! A mistake of the list or of this program: the test sees its exit status and its words.
  subroutine wrong(what, where)
    character(len=*), intent(in) :: what, where
    error stop trim(scenario)//': '//what//': '//where
  end subroutine

  ! The next word of a line, which is taken from it.
  function next_word(line) result(word)
    character(len=*), intent(inout) :: line
    character(len=:), allocatable :: word
    integer :: end
    line = adjustl(line)
    end = index(line//' ', ' ') - 1
    word = line(:end)
    line = adjustl(line(end + 1:))
  end function

  ! Of a scalar, one.
  pure integer(int64) function elements(one)
    type(argument), intent(in) :: one
    elements = product(one%shape)
  end function

  ! Where element number k lies in the memory, row by row, from 0.
  pure integer(int64) function place_of(one, k) result(place)
    type(argument), intent(in) :: one
    integer(int64), intent(in) :: k
    integer(int64) :: rest, stride(3)
    integer :: axis
    stride = [1_int64, one%room(1), one%room(1) * one%room(2)]
    rest = k
    place = 0
    do axis = max(one%rank, 1), 1, -1
      place = place + (one%first(axis) - 1 + mod(rest, one%shape(axis)) * one%step(axis)) * &
          stride(axis)
      rest = rest / one%shape(axis)
    end do
    place = place * one%bytes
  end function

  ! Whether values are whole numbers: characters are their codes.
  logical function is_whole(one)
    type(argument), intent(in) :: one
    is_whole = index(one%type, 'int') > 0 .or. one%type == 'char'
  end function

  ! Real numbers that an element consists of.
  pure integer function parts(one)
    type(argument), intent(in) :: one
    parts = merge(2, 1, index(one%type, 'complex') > 0)
  end function

  ! Bytes of one element; texts and files have none.
  subroutine set_size(one)
    type(argument), intent(inout) :: one
    select case (one%type)
    case ('char', 'int8', 'uint8')
      one%bytes = 1
    case ('int16', 'uint16')
      one%bytes = 2
    case ('int32', 'uint32', 'float')
      one%bytes = 4
    case ('int64', 'uint64', 'double', 'scomplex')
      one%bytes = 8
    case ('dcomplex')
      one%bytes = 16
    case ('string', 'filename')
      one%bytes = 0
    case default
      call wrong('no such type', trim(one%type))
    end select
  end subroutine

  ! Takes memory for an array with the layout that the list wants; without one, Fortran's own.
  subroutine lay_out(one, layout)
    type(argument), intent(inout) :: one
    character(len=*), intent(in) :: layout
    integer :: axis
    do axis = 1, one%rank
      one%room(axis) = one%shape(axis)
      one%last(axis) = one%shape(axis)
      if (layout == '@sections') then
        one%room(axis) = 2 * one%shape(axis)
        one%first(axis) = 2
        one%last(axis) = 2 * one%shape(axis)
        one%step(axis) = 2
      else if (layout == '@backwards') then
        one%first(axis) = one%shape(axis)
        one%last(axis) = 1
        one%step(axis) = -1
      end if
    end do
    allocate (one%memory(product(one%room) * one%bytes + 16))
    one%memory = 77
  end subroutine

  ! Bytes at a place in the memory, whatever the type of what lies there.
  subroutine put(one, at, bits)
    type(argument), intent(inout) :: one
    integer(int64), intent(in) :: at
    integer(int8), intent(in) :: bits(:)
    one%memory(at + 1:at + size(bits)) = bits
  end subroutine

  ! Element number k, or a part of it.
  subroutine put_number(one, k, part, whole, real)
    type(argument), intent(inout) :: one
    integer(int64), intent(in) :: k, whole
    integer, intent(in) :: part
    real(real64), intent(in) :: real
    integer(int8) :: bits(8)
    integer :: bytes
    bytes = one%bytes / parts(one)
    if (is_whole(one)) then
      bits = transfer(whole, bits)
    else if (bytes == 4) then
      bits(1:4) = transfer(sngl(real), bits(1:4))
    else
      bits = transfer(real, bits)
    end if
    call put(one, place_of(one, k) + part * bytes, bits(1:bytes))
  end subroutine

  ! The values behind the colon, or those of `ramp period`.
  subroutine fill(one, list, period)
    type(argument), intent(inout) :: one
    character(len=*), intent(inout) :: list
    integer(int64), intent(in) :: period
    integer(int64) :: k, whole
    integer :: part, status
    real(real64) :: real
    character(len=:), allocatable :: word
    whole = 0
    real = 0
    do k = 0, elements(one) - 1
      do part = 0, parts(one) - 1
        status = 0
        if (period > 0) then
          whole = mod(k, period)
          real = merge(0_int64, whole, part > 0)
        else
          word = next_word(list)
          if (is_whole(one)) read (word, *, iostat=status) whole
          if (.not. is_whole(one)) read (word, *, iostat=status) real
        end if
        if (status /= 0) call wrong('no such value', word)
        call put_number(one, k, part, whole, real)
      end do
    end do
  end subroutine

  ! Texts, each in quotes.
  subroutine fill_texts(one, list)
    type(argument), intent(inout) :: one
    character(len=*), intent(in) :: list
    integer(int64) :: k
    integer :: begin, length
    begin = 1
    do k = 1, elements(one)
      begin = begin + index(list(begin:), '"')
      length = index(list(begin:), '"') - 1
      one%texts(k) = list(begin:begin + length - 1)
      begin = begin + length + 1
    end do
  end subroutine

  ! The file that an argument names, unless it is missing.
  subroutine fill_file(one, list, count, period)
    type(argument), intent(inout) :: one
    character(len=*), intent(in) :: list
    integer(int64), intent(in) :: count, period
    integer(int64) :: k
    integer :: unit, first
    one%texts(1) = trim(folder)//'/'//one%name
    open (newunit=unit, file=trim(one%texts(1)), access='stream', status='replace')
    if (one%mode == 'out' .or. index(list, 'missing') > 0) then
      close (unit, status='delete')
      return
    end if
    if (count > 0) then
      write (unit) [(int(mod(k, period), int8), k = 0, count - 1)]
    else
      first = index(list, '"') + 1
      write (unit) list(first:first + index(list(first:), '"') - 2)
    end if
    close (unit)
  end subroutine

  ! What stands behind `in`, `inout` or `out`: name, type, extents, layout, values.
  function read_argument(mode, given) result(one)
    character(len=*), intent(in) :: mode, given
    type(argument) :: one
    character(len=len(given)) :: line, list
    character(len=12) :: layout, word
    integer(int64) :: numbers(4)
    integer :: colon, count, ramp
    line = given
    colon = index(line, ' :')
    list = ''
    if (colon > 0) then
      list = line(colon + 2:)
      line(colon:) = ''
    end if
    one%mode = mode
    one%name = next_word(line)
    one%type = next_word(line)
    call set_size(one)
    layout = ''
    count = 0
    ramp = 0
    do while (line /= '')
      word = next_word(line)
      if (word(1:1) == '@') then
        layout = word
      else if (word == 'ramp') then
        ramp = count + 1
      else
        count = count + 1
        read (word, *) numbers(count)
      end if
    end do
    if (one%type /= 'filename') then
      one%rank = merge(ramp - 1, count, ramp > 0)
      one%shape(:one%rank) = numbers(:one%rank)
    end if
    one%is_array = one%rank > 0
    allocate (one%texts(max(1_int64, merge(elements(one), 1_int64, one%type == 'string'))))
    one%texts = ''
    if (one%type == 'filename') then
      call fill_file(one, list, merge(numbers(1), 0_int64, ramp > 0), merge(numbers(2), 1_int64, &
          ramp > 0))
    else if (one%type == 'string') then
      if (mode /= 'out') call fill_texts(one, list)
    else
      call lay_out(one, layout)
      if (mode /= 'out') call fill(one, list, merge(numbers(max(ramp, 1)), 0_int64, ramp > 0))
    end if
  end function

  ! The same argument in memory of its own.
  function copied(from) result(one)
    type(argument), intent(in) :: from
    type(argument) :: one
    one = from
    if (associated(from%memory)) allocate (one%memory, source=from%memory)
    if (associated(from%texts)) allocate (one%texts, source=from%texts)
  end function

  ! Arrays of a call under way must not be given up.
  subroutine give_up(one)
    type(argument), intent(inout) :: one
    if (associated(one%memory)) deallocate (one%memory)
    if (associated(one%texts)) deallocate (one%texts)
  end subroutine

  ! ---- Showing ----

  ! The bits of part number k, as an unsigned number.
  integer(int64) function bits_of(one, k) result(bits)
    type(argument), intent(in) :: one
    integer(int64), intent(in) :: k
    integer(int8) :: whole(8)
    integer(int64) :: at
    integer :: bytes
    bytes = one%bytes / parts(one)
    at = place_of(one, k / parts(one)) + mod(k, int(parts(one), int64)) * bytes
    whole = 0
    whole(1:bytes) = one%memory(at + 1:at + bytes)
    bits = transfer(whole, bits)
  end function

  ! A whole number as such, any other by its bits; -0 is no whole number.
  function shown_real(bits, bytes) result(text)
    integer(int64), intent(in) :: bits
    integer, intent(in) :: bytes
    character(len=:), allocatable :: text
    character(len=24) :: room
    real(real64) :: number, most
    number = transfer(bits, number)
    most = 2d0**53
    if (bytes == 4) then
      number = transfer(int(bits, int32), 0.0)
      most = 2d0**24
    end if
    if (ieee_is_nan(number)) then
      room = 'nan'
    else if (.not. ieee_is_finite(number)) then
      room = merge(' inf', '-inf', number > 0)
    else if (abs(number) < most .and. .not. (number == 0 .and. sign(1d0, number) < 0)) then
      if (number == anint(number)) then
        write (room, '(i0)') int(number, int64)
      else
        call write_bits()
      end if
    else
      call write_bits()
    end if
    text = ' '//trim(adjustl(room))
  contains
    subroutine write_bits()
      if (bytes == 4) write (room, '("x", z8.8)') int(bits, int32)
      if (bytes == 8) write (room, '("x", z16.16)') bits
      room = lower(room)
    end subroutine
  end function

  ! Hexadecimal digits, which Fortran writes in capitals.
  pure function lower(text)
    character(len=*), intent(in) :: text
    character(len=len(text)) :: lower
    integer :: k
    lower = text
    do k = 1, len(text)
      if (text(k:k) >= 'A' .and. text(k:k) <= 'F') lower(k:k) = achar(iachar(text(k:k)) + 32)
    end do
  end function

  ! Fortran has no unsigned integers: the sign is put where the type has one.
  function shown_whole(one, bits) result(text)
    type(argument), intent(in) :: one
    integer(int64), intent(in) :: bits
    character(len=:), allocatable :: text
    character(len=24) :: room
    integer(int64) :: number
    number = bits
    if (one%type(1:3) == 'int' .and. one%bytes < 8) then
      if (btest(bits, 8 * one%bytes - 1)) number = bits - ishft(1_int64, 8 * one%bytes)
    end if
    write (room, '(i0)') number
    text = ' '//trim(room)
  end function

  ! What stands for many numbers.
  function shown_sum(total) result(text)
    integer(int64), intent(in) :: total
    character(len=18) :: text
    write (text, '(" #", z16.16)') total
    text = lower(text)
  end function

  ! All numbers, or their sum: the exclusive or of their bits, each turned by its place.
  function shown_numbers(one) result(text)
    type(argument), intent(in) :: one
    character(len=:), allocatable :: text
    integer(int64) :: count, k, total
    count = elements(one) * parts(one)
    text = ''
    total = 0
    do k = 0, count - 1
      if (count > shown_max) then
        total = ieor(total, ishftc(bits_of(one, k), int(mod(k, int(turns, int64)))))
      else if (is_whole(one)) then
        text = text//shown_whole(one, bits_of(one, k))
      else
        text = text//shown_real(bits_of(one, k), one%bytes / parts(one))
      end if
    end do
    if (count > shown_max) text = shown_sum(total)
  end function

  ! A file by its content, or by its bytes and their sum.
  function shown_file(one) result(text)
    type(argument), intent(in) :: one
    character(len=:), allocatable :: text, content
    character(len=24) :: room
    integer(int64) :: bytes, k, total
    integer :: unit
    open (newunit=unit, file=trim(one%texts(1)), access='stream', status='old')
    inquire (unit, size=bytes)
    allocate (character(len=bytes) :: content)
    read (unit) content
    close (unit)
    text = ' : "'//content//'"'
    if (bytes > shown_max) then
      total = 0
      do k = 0, bytes - 1
        total = ieor(total, ishftc(int(iachar(content(k + 1:k + 1)), int64), int(mod(k, int(turns, &
            int64)))))
      end do
      write (room, '(i0)') bytes
      text = ' '//trim(room)//' :'//shown_sum(total)
    end if
  end function

  ! A result as all clients print it.
  function shown(one) result(text)
    type(argument), intent(in) :: one
    character(len=:), allocatable :: text
    character(len=24) :: room
    integer :: k
    text = trim(one%name)//' '//trim(one%type)
    if (one%type == 'filename') then
      text = text//shown_file(one)
      return
    end if
    do k = 1, one%rank
      write (room, '(i0)') one%shape(k)
      text = text//' '//trim(room)
    end do
    text = text//' :'
    if (one%type /= 'string') then
      text = text//shown_numbers(one)
      return
    end if
    do k = 1, size(one%texts)
      text = text//' "'//trim(one%texts(k))//'"'
    end do
  end function

end module
