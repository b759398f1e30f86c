# What the Makefiles of these trees share: MODULES are IDL files without their ending, PROGRAMS are clients.
NG_GEN = $(NG_DIR)/bin/ng_gen
NG_CC  = $(NG_DIR)/bin/ng_cc
CFLAGS = -g -I../checking
HOST  := $(shell hostname)

all: client.conf $(PROGRAMS)

%.mak: %.idl
	$(NG_GEN) $<

%.$(HOST).nrf: %.mak
	$(MAKE) -f $<

%: %.c
	$(NG_CC) $(CFLAGS) -o $@ $<

client.conf: $(MODULES:=.$(HOST).nrf) ../checking/rules.mk $(wildcard server.attributes)
	( echo '<CLIENT>'; echo '  loglevel 2'; echo '</CLIENT>'; \
	  echo '<INFORMATION_SOURCE>'; echo '  type NRF'; echo '  tag nrf'; \
	  for m in $(MODULES); do echo "  source $$m.$(HOST).nrf"; done; echo '</INFORMATION_SOURCE>'; \
	  echo '<INVOKE_SERVER>'; echo '  type SSH'; echo '</INVOKE_SERVER>'; \
	  echo '<SERVER>'; echo "  hostname $(HOST)"; echo '  invoke_server SSH'; \
	  if [ -f server.attributes ]; then cat server.attributes; fi; echo '</SERVER>' ) > $@

check: all
	set -e; for p in $(PROGRAMS); do ./$$p client.conf $(HOST); done

clean:
	for m in $(MODULES); do [ ! -f $$m.mak ] || $(MAKE) -f $$m.mak veryclean; rm -f $$m.mak; done
	rm -f client.conf $(PROGRAMS) *.nrf

.PHONY: all check clean
.PRECIOUS: %.mak %.$(HOST).nrf
