# SPDX-License-Identifier: Apache-2.0
# Build rules that the Makefiles of PsPIN's examples include: handlers, compiled by spinet.
#
# A Makefile sets SPIN_APP_NAME, SPIN_APP_SRCS and SPIN_CFLAGS; `make deploy` makes build/$(SPIN_APP_NAME) and
# build/slm_files. SPINET may name the command.
SPINET ?= spinet

# What the compiler of PsPIN's time only warned of; and one section a file, so that a function stays whose address only
# the host asks for.
SPIN_LENIENT = int-conversion incompatible-pointer-types implicit-function-declaration implicit-int return-mismatch
SPIN_COMPATIBLE = $(patsubst %,-Wno-error=%,$(SPIN_LENIENT)) -fno-function-sections

.PHONY: deploy
deploy::
	mkdir -p build
	$(SPINET) build $(SPIN_APP_SRCS) -o build/$(SPIN_APP_NAME) --slm build/slm_files \
		$(patsubst %,--flag=%,$(SPIN_COMPATIBLE) $(filter-out -g -flto,$(SPIN_CFLAGS)))
