/* What programs that were written close to the wire included: all of it is in ninf.h. */
#include "ninf.h"
