!     The FORTRAN 77 names of GridRPC and Ninf: arguments by reference,
!     CHARACTERs with their lengths behind all of them.
      PROGRAM TF77
      USE CHECK
      TYPE(FARCALL_SERVER) :: OWN
      CHARACTER(LEN=:), ALLOCATABLE :: PLACE
      CALL BEGIN(OWN)
      CALL FARCALL_ADDRESS(OWN, PLACE)
      OPEN (17, FILE='build/tests/fortran/f77.conf')
      WRITE (17, '(A/2A/A)') '<SERVER>', 'hostname ', PLACE, '</SERVER>'
      CLOSE (17)
      CALL ERRORS
      CALL CALLS(PLACE)
      CALL OBJECT
      CALL BACK
      CALL ATTRIB(PLACE)
      CALL INFORM
      CALL NINF(PLACE)
      CALL FINISH(OWN)
      END

!     What goes wrong has its code, and its words.
      SUBROUTINE ERRORS
      USE CHECK
      INCLUDE 'grpc.inc'
      INTEGER*8 H
      INTEGER*4 ID, IERR
      H = 0
      CALL THAT(GRPC_FINALIZE() .EQ. GRPC_NOT_INITIALIZED, 'too soon')
      CALL THAT(GRPC_INITIALIZE('nowhere.conf') .EQ.
     $          GRPC_CONFIGFILE_NOT_FOUND, 'no configuration')
      CALL THAT(GRPC_INITIALIZE('build/tests/fortran/f77.conf   ')
     $          .EQ. GRPC_NO_ERROR, 'blanks behind a file')
      CALL THAT(GRPC_INITIALIZE(' ') .EQ. GRPC_ALREADY_INITIALIZED,
     $          'twice')
      CALL THAT(GRPC_CALL(H, 1) .EQ. GRPC_INVALID_FUNCTION_HANDLE,
     $          'no handle')
      CALL THAT(GRPC_FUNCTION_HANDLE_DEFAULT(H, 'fortran/none()')
     $          .EQ. GRPC_FUNCTION_NOT_FOUND, 'no function')
      CALL THAT(GRPC_PROBE(4711) .EQ. GRPC_INVALID_SESSION_ID, 'probe')
      IERR = GRPC_WAIT_ANY(ID)
      CALL THAT(IERR .EQ. GRPC_NO_ERROR .AND.
     $          ID .EQ. GRPC_SESSIONID_VOID, 'nothing to wait for')
      CALL THAT(INDEX(GRPC_ERROR_STRING(GRPC_INVALID_SESSION_ID),
     $          'ession') .GT. 0, 'the words of an error')
      END

!     Calls, and sessions.
      SUBROUTINE CALLS(PLACE)
      USE CHECK
      INCLUDE 'grpc.inc'
      CHARACTER*(*) PLACE
      INTEGER*8 H, HS(3), FOUND
      INTEGER*4 IDS(3), ID, N, BYTES, DONE(3), I, K
      REAL*8 A(2,3), SEEN(11)
      CHARACTER*10 TEXT
      INTEGER*2 S
      INTEGER*8 L
      LOGICAL T
!     It changes while calls are under way.
      COMMON /DONES/ DONE
      A = 1D0
      CALL THAT(GRPC_FUNCTION_HANDLE_INIT(H, PLACE, 'fortran/scale()')
     $          .EQ. GRPC_NO_ERROR, 'a server and a function')
      CALL THAT(GRPC_CALL(H, 2, 3, A, 4D0) .EQ. GRPC_NO_ERROR, 'call')
      CALL THAT(ALL(A .EQ. 4D0), 'a matrix')
      CALL THAT(GRPC_FUNCTION_HANDLE_DESTRUCT(H) .EQ. GRPC_NO_ERROR,
     $          'the end of a handle')
      CALL THAT(GRPC_CALL(H, 2, 3, A, 4D0) .EQ.
     $          GRPC_INVALID_FUNCTION_HANDLE, 'it has ended')
      I = GRPC_FUNCTION_HANDLE_DEFAULT(H, 'fortran/scalars')
      S = 2
      L = 4
      T = .TRUE.
      I = GRPC_CALL(H, 'N', S, 3, L, T, 5.5, 6.25D0, (7.0, 8.0),
     $              (9D0, 1D1), SEEN)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. ALL(SEEN .EQ. (/78D0, 2D0,
     $   3D0, 4D0, 1D0, 5.5D0, 6.25D0, 7D0, 8D0, 9D0, 1D1/)), 'scalars')
!     The lengths of both texts stand behind four arguments.
      I = GRPC_FUNCTION_HANDLE_DEFAULT(H, 'fortran/texts')
      TEXT = 'lower'
      I = GRPC_CALL(H, 'first   ', 10, TEXT, BYTES, 'the second')
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. BYTES .EQ. 510 .AND.
     $          TEXT .EQ. 'LOWER', 'texts')
      I = GRPC_CALL(H, 'first   ', 10, TEXT, 5, 'the second')
      CALL THAT(I .EQ. GRPC_OTHER_ERROR_CODE, 'a constant')
      I = GRPC_FUNCTION_HANDLE_DEFAULT(H, 'fortran/greet')
      CALL THAT(GRPC_CALL(H, 'world', TEXT) .EQ. GRPC_OTHER_ERROR_CODE,
     $          'a string that is a result')
      K = 3
      I = GRPC_FUNCTION_HANDLE_ARRAY_DEFAULT_NP(HS, K, 'fortran/pause')
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'an array of handles')
      I = GRPC_CALL_ASYNC(HS(1), IDS(1), 20D0, DONE(1))
      I = GRPC_CALL_ASYNC(HS(2), IDS(2), 0.05D0, DONE(2))
      I = GRPC_CALL_ASYNC(HS(3), IDS(3), 0.05D0, DONE(3))
      CALL THAT(GRPC_PROBE(IDS(1)) .EQ. GRPC_NOT_COMPLETED, 'under way')
      I = GRPC_WAIT_OR(IDS, 3, ID)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. ID .NE. IDS(1), 'one')
      I = GRPC_WAIT_AND(IDS(2), 2)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. DONE(2) .EQ. 1 .AND.
     $          DONE(3) .EQ. 1, 'wait for two')
      I = GRPC_GET_HANDLE(FOUND, IDS(1))
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. FOUND .EQ. HS(1), 'whose')
      CALL THAT(GRPC_CANCEL(IDS(1)) .EQ. GRPC_NO_ERROR, 'cancel')
      I = GRPC_WAIT(IDS(1))
      CALL THAT(I .EQ. GRPC_SESSION_FAILED .AND.
     $          GRPC_GET_ERROR(IDS(1)) .EQ. GRPC_CANCELED_NP, 'it has')
      CALL THAT(GRPC_WAIT_ALL() .NE. GRPC_NOT_INITIALIZED, 'wait all')
      I = GRPC_GET_FAILED_SESSIONID(ID)
      CALL THAT(ID .EQ. IDS(1), 'which failed')
      N = GRPC_FUNCTION_HANDLE_ARRAY_DESTRUCT_NP(HS, K)
      END

!     A remote object; its methods' names end with parentheses.
      SUBROUTINE OBJECT
      USE CHECK
      INCLUDE 'grpc.inc'
      INTEGER*8 H
      INTEGER*4 NOW, ID, I
      CALL THAT(GRPC_OBJECT_HANDLE_DEFAULT_NP(H, 'fortran/Counter')
     $          .EQ. GRPC_NO_ERROR, 'an object')
      I = GRPC_INVOKE_NP(H, 'add()', 3, NOW)
      I = GRPC_INVOKE_ASYNC_NP(H, 'add()', ID, 4, NOW)
      I = GRPC_WAIT(ID)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. NOW .EQ. 7, 'its state')
      I = GRPC_OBJECT_HANDLE_DESTRUCT_NP(H)
      END

!     Subroutines that are called back.
      SUBROUTINE BACK
      USE CHECK
      INCLUDE 'grpc.inc'
      INTEGER*8 H
      INTEGER*4 I, TOTAL
      REAL*8 AREA
      REAL*8 TWICE
      EXTERNAL SQUARE, HEAR, TWICE
      I = GRPC_FUNCTION_HANDLE_DEFAULT(H, 'fortran/integrate')
      I = GRPC_CALL(H, 0D0, 3D0, 100, AREA, SQUARE)
      CALL THAT(ABS(AREA - 9D0) .LT. 1D-3, 'an integrand')
      I = GRPC_FUNCTION_HANDLE_DEFAULT(H, 'fortran/after')
      I = GRPC_CALL(H, 3D0, AREA, TWICE)
      CALL THAT(AREA .EQ. 7, 'a function')
      I = GRPC_FUNCTION_HANDLE_DEFAULT(H, 'fortran/tell')
      I = GRPC_CALL(H, 4, TOTAL, HEAR)
      CALL THAT(TOTAL .EQ. 10 + 4 * 3 + 2, 'texts in a callback')
      END

      REAL*8 FUNCTION TWICE(X)
      REAL*8 X
      TWICE = 2 * X
      END

      SUBROUTINE SQUARE(N, X, Y)
      INTEGER N, I
      REAL*8 X(N), Y(N)
      DO 10 I = 1, N
   10 Y(I) = X(I)**2
      END

      SUBROUTINE HEAR(I, WORD, TOTAL)
      INTEGER I, TOTAL
      CHARACTER*(*) WORD
      TOTAL = TOTAL + I + LEN(WORD)
      END

!     Attributes: texts and numbers of handles, numbers of sessions.
      SUBROUTINE ATTRIB(PLACE)
      USE CHECK
      INCLUDE 'grpc.inc'
      CHARACTER*(*) PLACE
      CHARACTER*200 TEXT
      INTEGER*8 ATTR, SATTR, MORE, H, HS(2), OBJ
      INTEGER*4 I, ID, N, DONE
      COMMON /ATTRS/ DONE
      I = GRPC_HANDLE_ATTR_INITIALIZE_NP(ATTR)
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'attributes')
      I = GRPC_HANDLE_ATTR_SET_NP(ATTR, GRPC_HANDLE_ATTR_HOSTNAME,
     $                            PLACE)
      I = GRPC_HANDLE_ATTR_SET_NP(ATTR, GRPC_HANDLE_ATTR_FUNCNAME,
     $                            'fortran/pause()   ')
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'a text')
      I = GRPC_HANDLE_ATTR_SET_NP(ATTR,
     $                            GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT, 77)
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'a number')
      I = GRPC_HANDLE_ATTR_GET_NP(ATTR, GRPC_HANDLE_ATTR_FUNCNAME,
     $                            TEXT)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. TEXT .EQ. 'fortran/pause',
     $          'a text comes back')
      N = -5
      I = GRPC_HANDLE_ATTR_GET_NP(ATTR,
     $                            GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT, N)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. N .EQ. 77,
     $          'a number comes back')
      TEXT = 'as it was'
      I = GRPC_HANDLE_ATTR_GET_NP(ATTR, GRPC_HANDLE_ATTR_QUEUENAME,
     $                            TEXT)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. TEXT .EQ. 'as it was',
     $          'nothing was set')
      I = GRPC_HANDLE_ATTR_SET_NP(ATTR, 99, N)
      CALL THAT(I .EQ. GRPC_OTHER_ERROR_CODE, 'no such attribute')
      I = GRPC_FUNCTION_HANDLE_INIT_WITH_ATTR_NP(H, ATTR)
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'a handle with attributes')
      I = GRPC_FUNCTION_HANDLE_GET_ATTR_NP(H, MORE)
      I = GRPC_HANDLE_ATTR_GET_NP(MORE, GRPC_HANDLE_ATTR_FUNCNAME,
     $                            TEXT)
      CALL THAT(INDEX(TEXT, 'pause') .GT. 0, 'attributes of a handle')
      I = GRPC_HANDLE_ATTR_DESTRUCT_NP(MORE)
      I = GRPC_FUNCTION_HANDLE_ARRAY_INIT_WITH_ATTR_NP(HS, 2, ATTR)
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'handles with attributes')
      I = GRPC_CALL(HS(2), 0D0, DONE)
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'they take calls')
      I = GRPC_FUNCTION_HANDLE_ARRAY_DESTRUCT_NP(HS, 2)

      I = GRPC_SESSION_ATTR_INITIALIZE_NP(H, SATTR)
      I = GRPC_CALL_WITH_ATTR_NP(H, SATTR, 0D0, DONE)
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'a call with attributes')
      I = GRPC_SESSION_ATTR_SET_NP(SATTR,
     $                             GRPC_SESSION_ATTR_SESSION_TIMEOUT, 1)
      I = GRPC_SESSION_ATTR_GET_NP(SATTR,
     $                             GRPC_SESSION_ATTR_SESSION_TIMEOUT, N)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. N .EQ. 1, 'its time')
      I = GRPC_CALL_ASYNC_WITH_ATTR_NP(H, ID, SATTR, 60D0, DONE)
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'a session with attributes')
      I = GRPC_WAIT(ID)
      CALL THAT(I .EQ. GRPC_TIMEOUT_NP, 'it is over')
      I = GRPC_SESSION_ATTR_DESTRUCT_NP(SATTR)
      I = GRPC_FUNCTION_HANDLE_DESTRUCT(H)
      I = GRPC_FUNCTION_HANDLE_INIT_WITH_ATTR_NP(H, ATTR)
      I = GRPC_CALL_WITH_ATTR_NP(H, SATTR, 0D0, DONE)
      CALL THAT(I .EQ. GRPC_OTHER_ERROR_CODE, 'none any more')

      I = GRPC_HANDLE_ATTR_SET_NP(ATTR, GRPC_HANDLE_ATTR_FUNCNAME,
     $                            'fortran/Counter')
      I = GRPC_OBJECT_HANDLE_INIT_WITH_ATTR_NP(OBJ, ATTR)
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'an object with attributes')
      I = GRPC_SESSION_ATTR_INITIALIZE_WITH_OBJECT_HANDLE_NP(OBJ, SATTR)
      I = GRPC_INVOKE_WITH_ATTR_NP(OBJ, 'add()', SATTR, 3, DONE)
      I = GRPC_INVOKE_ASYNC_WITH_ATTR_NP(OBJ, 'add()', ID, SATTR, 4,
     $                                   DONE)
      I = GRPC_WAIT(ID)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND. DONE .EQ. 7, 'its methods')
      I = GRPC_SESSION_ATTR_DESTRUCT_NP(SATTR)
      I = GRPC_OBJECT_HANDLE_DESTRUCT_NP(OBJ)
      I = GRPC_FUNCTION_HANDLE_DESTRUCT(H)
      I = GRPC_HANDLE_ATTR_DESTRUCT_NP(ATTR)
      CALL THAT(I .EQ. GRPC_NO_ERROR, 'no attributes any more')
      END

!     What a session took.
      SUBROUTINE INFORM
      USE CHECK
      INCLUDE 'grpc.inc'
      INTEGER*8 H, INFO
      INTEGER*4 I, ID, STATUS, DONE, SEC, USEC
      I = GRPC_FUNCTION_HANDLE_DEFAULT(H, 'fortran/pause')
      I = GRPC_CALL_ASYNC(H, ID, 0.05D0, DONE)
      I = GRPC_WAIT(ID)
      I = GRPC_SESSION_INFO_GET_NP(ID, INFO, STATUS)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND.
     $          STATUS .EQ. GRPC_SESSION_DONE, 'information')
      I = GRPC_SINFO_GET_EXECUTABLE_CALCULATION_REAL_TIME_NP(INFO,
     $        SEC, USEC)
      CALL THAT(I .EQ. GRPC_NO_ERROR .AND.
     $          SEC * 1000000 + USEC .GE. 50000, 'its time')
      I = GRPC_SINFO_GET_COMP_TO_REMOTE_VALID_NP(INFO, 99, SEC)
      CALL THAT(I .EQ. GRPC_OTHER_ERROR_CODE, 'no such argument')
      I = GRPC_SESSION_INFO_RELEASE_NP(INFO)
      CALL THAT(GRPC_SINFO_GET_CLIENT_CALLBACK_NTIMES_CALLED_NP(INFO,
     $          SEC) .EQ. GRPC_OTHER_ERROR_CODE, 'none any more')
      CALL THAT(GRPC_FINALIZE() .EQ. GRPC_NO_ERROR, 'the end')
      END

!     The classic interface.
      SUBROUTINE NINF(PLACE)
      USE CHECK
      INCLUDE 'ninf.inc'
      CHARACTER*(*) PLACE
      CHARACTER*10 TEXT
      INTEGER*4 ID, ANY, BYTES, I
      REAL*8 A(2,2), B(2,2)
      EXTERNAL SQUARE
!     They change while calls are under way.
      COMMON /LATER/ A, B
      A = 1D0
      CALL NINF_SET_SERVER(PLACE, ' ')
      CALL THAT(NINF_CALL('fortran/scale()', 2, 2, A, 3D0) .EQ. NINF_OK,
     $          'a call of Ninf')
      CALL THAT(ALL(A .EQ. 3D0), 'its result')
      TEXT = 'lower'
      I = NINF_CALL('fortran/texts()', 'first', 10, TEXT, BYTES, 'two')
      CALL THAT(BYTES .EQ. 503 .AND. TEXT .EQ. 'LOWER', 'its texts')
      ID = NINF_CALL_ASYNC('fortran/scale()', 2, 2, A, 2D0)
      CALL THAT(ID .GT. 0, 'a session of Ninf')
      I = NINF_WAIT(ID)
      CALL THAT(I .EQ. NINF_OK .AND. ALL(A .EQ. 6D0), 'its end')
      I = NINF_CALL('fortran/integrate()', 0D0, 3D0, 100, A, SQUARE)
      CALL THAT(ABS(A(1,1) - 9D0) .LT. 1D-3, 'its callback')
      CALL THAT(NINF_CALL('fortran/none()', 1) .EQ. NINF_ERROR .AND.
     $          NINF_ERROR_CODE() .EQ. 1, 'no function')
      B = 1D0
      I = NINF_TRANSACTION_BEGIN()
      I = NINF_CALL('fortran/texts()', 'first', 10, TEXT, BYTES, 'two')
      CALL THAT(I .EQ. NINF_ERROR, 'a text in a transaction')
      I = NINF_TRANSACTION_END()
      I = NINF_TRANSACTION_BEGIN()
      I = NINF_CALL('fortran/scale()', 2, 2, B, 2D0)
      I = NINF_CALL('fortran/scale()', 2, 2, B, 5D0)
      CALL THAT(ALL(B .EQ. 1D0), 'what is only written down')
      I = NINF_TRANSACTION_END()
      CALL THAT(I .EQ. NINF_OK .AND. ALL(B .EQ. 10D0), 'a transaction')
      CALL THAT(NINF_TRANSACTION_TEMPORARY(B) .EQ. NINF_ERROR .AND.
     $          NINF_ERROR_CODE() .EQ. 47, 'no transaction')
      I = NINF_WAIT_ANY(ANY)
      END
