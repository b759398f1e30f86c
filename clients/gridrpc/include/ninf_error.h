/* The errors of the classic Ninf interface, for programs that include them by this name. */
#include "ninf.h"
