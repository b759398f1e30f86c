//! Functions of the language, which only read what they are given (Fortran 2018, section 16, and
//! the specific names of FORTRAN 77).

const INTRINSICS: &str = "abs achar acos acosh adjustl adjustr aimag aint all allocated alog \
    alog10 amax0 amax1 amin0 amin1 amod anint any asin asinh associated atan atan2 atanh bessel_j0 \
    bessel_j1 bessel_jn bessel_y0 bessel_y1 bessel_yn bge bgt bit_size ble blt btest cabs ccos \
    cdabs cdcos cdexp cdlog cdsin cdsqrt ceiling cexp char clog cmplx \
    command_argument_count conjg cos cosh count cpu_time cshift csin csqrt dabs dacos dasin datan \
    datan2 dble dcmplx dconjg dcos dcosh ddim dexp dfloat digits dim dimag dint dlog dlog10 dmax1 \
    dmin1 dmod dnint dot_product dprod dreal dsign dsin dsinh dsqrt dtan dtanh eoshift epsilon erf \
    erfc erfc_scaled exp exponent float floor fraction gamma huge hypot iabs iachar iand ibclr \
    ibits ibset ichar idim idint idnint ieor ifix index int int2 int8 ior is_iostat_end \
    is_iostat_eor ishft ishftc isign isnan kind lbound leadz len len_trim lge lgt lle llt log \
    log10 log_gamma logical long lshift matmul max max0 max1 maxexponent maxloc maxval merge min \
    min0 min1 minexponent minloc minval mod modulo nearest nint norm2 not null pack popcnt poppar \
    precision present product radix random range real repeat reshape rrspacing rshift scale scan \
    selected_int_kind selected_real_kind set_exponent shape shifta shiftl shiftr sign sin sinh \
    size sngl spacing spread sqrt sum tan tanh tiny trailz transfer transpose trim ubound unpack \
    verify zabs zcos zexp zlog zsin zsqrt";

/// Whether the language has a function of this name, in lower case.
pub fn is_intrinsic(name: &str) -> bool {
    INTRINSICS.split_ascii_whitespace().any(|one| one == name)
}
