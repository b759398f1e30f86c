# What makefiles for Ninf-G include: compilers and options, by the names of Ninf-G 2 to 5 (NG_) and 1 (NS_).
#
# Each may be set before, on the command line, or in the environment.

# The folder that this file's own folder is in.
NG_TEMPLATE_DIR := $(dir $(lastword $(MAKEFILE_LIST)))
ifndef NG_DIR
NG_DIR := $(abspath $(NG_TEMPLATE_DIR)..)
endif

# For stub executables.
NG_COMPILER ?= $(CC)
NG_LINKER ?= $(CC)
NG_INCLUDES ?= -I$(NG_DIR)/include
NG_CFLAGS ?= -g -O2 $(NG_INCLUDES)
NG_CPPFLAGS ?=
NG_STUB_LDFLAGS ?= -L$(NG_DIR)/lib -Wl,-rpath,$(abspath $(NG_DIR))/lib -lfarcall -lm

# For clients; $(NG_DIR)/bin/ng_cc does it all.
NG_CLIENT_COMPILER ?= $(CC)
NG_CLIENT_CFLAGS ?= -g -O2
NG_CLIENT_CPPFLAGS ?= $(NG_INCLUDES)
NG_CLIENT_LIBS ?= -lnggrpc -lfarcall -lpthread -lm
NG_CLIENT_LDFLAGS ?= -L$(NG_DIR)/lib -Wl,-rpath,$(abspath $(NG_DIR))/lib $(NG_CLIENT_LIBS)

# Where `make -f x.mak install` puts the lists of functions.
NG_INSTALL ?= install
NG_NRF_DIR ?= $(NG_DIR)/var/gridrpc

# The first Ninf's names.
NINF_DIR ?= $(NG_DIR)
NINF_GEN ?= $(NG_DIR)/bin/ninf_gen
NINF_CC ?= $(NG_DIR)/bin/ninfcc
NINFCC ?= $(NINF_CC)
NINF_SERVER_PROGRAM ?= $(NG_DIR)/bin/ninf_serv_tcp
NINF_INCLUDES ?= $(NG_INCLUDES)
NINF_CPPFLAGS ?= $(NG_INCLUDES)
NINF_CFLAGS ?= $(NG_INCLUDES)
NINF_LDFLAGS ?= $(NG_CLIENT_LDFLAGS)
NINF_LIBS ?= $(NG_CLIENT_LIBS)
NINF_CLIENT_LDFLAGS ?= $(NG_CLIENT_LDFLAGS)
NINF_STUB_LDFLAGS ?= $(NG_STUB_LDFLAGS)

# The same by older names.
INSTALL ?= $(NG_INSTALL)
LDIF_INSTALL_DIR ?= $(NG_NRF_DIR)
NS_DIR ?= $(NG_DIR)
NS_COMPILER ?= $(NG_COMPILER)
NS_LINKER ?= $(NG_LINKER)
NS_CPPFLAGS ?= $(NG_INCLUDES)
NS_CFLAGS ?= $(NG_CFLAGS)
NS_STUB_LDFLAGS ?= $(NG_STUB_LDFLAGS)
NS_CLIENT_COMPILER ?= $(NG_CLIENT_COMPILER)
NS_CLIENT_CPPFLAGS ?= $(NG_CLIENT_CPPFLAGS)
NS_CLIENT_LDFLAGS ?= $(NG_CLIENT_LDFLAGS)
