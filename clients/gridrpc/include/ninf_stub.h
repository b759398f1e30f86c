/* What code that was written for stub executables included: all of it is in ninf.h. */
#include "ninf.h"
