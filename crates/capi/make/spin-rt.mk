# SPDX-License-Identifier: Apache-2.0
# Build rules that the Makefiles of PsPIN's examples include: handlers, compiled by spinet.
#
# A Makefile sets SPIN_APP_NAME, SPIN_APP_SRCS and SPIN_CFLAGS; `make deploy` makes build/$(SPIN_APP_NAME) and
# build/slm_files. SPINET may name the command.
SPINET ?= spinet

.PHONY: deploy
deploy::
	mkdir -p build
	$(SPINET) build $(SPIN_APP_SRCS) -o build/$(SPIN_APP_NAME) --slm build/slm_files \
		$(patsubst %,--flag=%,$(filter-out -g -flto,$(SPIN_CFLAGS)))
