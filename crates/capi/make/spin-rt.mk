# SPDX-License-Identifier: Apache-2.0
# Build rules that the Makefiles of PsPIN's examples include: handlers, compiled by spinet, and drivers without gengetopt.
#
# A Makefile sets SPIN_APP_NAME, SPIN_APP_SRCS and SPIN_CFLAGS.
#   make deploy                 build/$(SPIN_APP_NAME), build/slm_files, and a copy of the latter in TARGET_SLM
#   make sim_$(SPIN_APP_NAME)   driver/driver.c, or all of driver, on the generic driver of libpspin
# SPINET may name the command; TARGET_SLM is where drivers look that name no memory images; SPIN_DRIVER_SRCS, SPIN_DRIVER_CC,
# SPIN_DRIVER_CFLAGS and SPIN_DRIVER_LDFLAGS are for the driver.
SPINET ?= spinet
TARGET_SLM ?= $(PSPIN_HW)/sim_files/slm_files
SPIN_DRIVER_SRCS ?= $(or $(wildcard driver/driver.c),$(wildcard driver/*.c driver/*.cc driver/*.cpp))
SPIN_DRIVER_CC ?= $(if $(filter %.cc %.cpp,$(SPIN_DRIVER_SRCS)),$(CXX),$(CC))

.PHONY: all deploy
# What `make` alone does; PsPIN's gdriver.mk adds drivers.
all:: deploy

deploy::
	mkdir -p build
	$(SPINET) build $(SPIN_APP_SRCS) -o build/$(SPIN_APP_NAME) --slm build/slm_files \
		$(patsubst %,--flag=%,$(filter-out -g -flto,$(SPIN_CFLAGS)))
	$(if $(TARGET_SLM),mkdir -p $(TARGET_SLM) && cp build/slm_files/*.slm $(TARGET_SLM))

sim_$(SPIN_APP_NAME): $(SPIN_DRIVER_SRCS)
	$(SPIN_DRIVER_CC) $(SPIN_DRIVER_CFLAGS) -I$(PSPIN_RT)/runtime/include -I$(PSPIN_HW)/verilator_model/include $^ \
		-L$(PSPIN_HW)/verilator_model/lib -Wl,-rpath,$(PSPIN_HW)/verilator_model/lib -lpspin $(SPIN_DRIVER_LDFLAGS) -o $@
