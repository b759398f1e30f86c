/* What programs with objects of other systems included: all of it is in ninf.h. */
#include "ninf.h"
