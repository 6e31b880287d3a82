# SPDX-License-Identifier: Apache-2.0
# Build rules for the Makefiles of PsPIN's examples: compile handlers with spinet, and drivers without gengetopt.
#
# A Makefile sets SPIN_APP_NAME, SPIN_APP_SRCS and SPIN_CFLAGS.
#   make deploy                 make build/$(SPIN_APP_NAME) and build/slm_files, and copy the latter to TARGET_SLM
#   make sim_$(SPIN_APP_NAME)   compile driver/driver.c, or all sources in driver, with libpspin's generic driver
#   make info, make trace, make trace-chrome, make stats   reports on the last run, see the script `traces`
# SPINET is the command. TARGET_SLM is the folder of memory images for drivers that set none. SPIN_DRIVER_SRCS,
# SPIN_DRIVER_CC, SPIN_DRIVER_CFLAGS and SPIN_DRIVER_LDFLAGS apply to the driver.
SPINET ?= spinet
TARGET_SLM ?= $(PSPIN_HW)/sim_files/slm_files
SPIN_DRIVER_SRCS ?= $(or $(wildcard driver/driver.c),$(wildcard driver/*.c driver/*.cc driver/*.cpp))
SPIN_DRIVER_CC ?= $(if $(filter %.cc %.cpp,$(SPIN_DRIVER_SRCS)),$(CXX),$(CC))

.PHONY: all deploy
# The default target. PsPIN's gdriver.mk adds drivers.
all:: deploy

deploy::
	mkdir -p build
	$(SPINET) build $(SPIN_APP_SRCS) -o build/$(SPIN_APP_NAME) --slm build/slm_files \
		$(patsubst %,--flag=%,$(filter-out -g -flto,$(SPIN_CFLAGS)))
	$(if $(TARGET_SLM),mkdir -p $(TARGET_SLM) && cp build/slm_files/*.slm $(TARGET_SLM))

sim_$(SPIN_APP_NAME): $(SPIN_DRIVER_SRCS)
	$(SPIN_DRIVER_CC) $(SPIN_DRIVER_CFLAGS) -I$(PSPIN_RT)/runtime/include -I$(PSPIN_HW)/verilator_model/include $^ \
		-L$(PSPIN_HW)/verilator_model/lib -Wl,-rpath,$(PSPIN_HW)/verilator_model/lib -lpspin $(SPIN_DRIVER_LDFLAGS) -o $@

# Lets programs find the library without -rpath and LD_LIBRARY_PATH.
export LD_RUN_PATH ?= $(abspath $(PSPIN_HW)/verilator_model/lib)
export LD_LIBRARY_PATH := $(PSPIN_HW)/verilator_model/lib$(if $(LD_LIBRARY_PATH),:$(LD_LIBRARY_PATH))
# PsPIN's gdriver.mk calls gengetopt.
ifeq ($(shell command -v gengetopt),)
export PATH := $(PSPIN_RT)/scripts:$(PATH)
endif

# `make run` writes the files for the reports, like PsPIN's simulation.
TRACE_DIR ?= ./
export SPINET_TRANSCRIPT ?= 1
export SPINET_INSTRUCTIONS ?= $(TRACE_DIR)
INFO_KEY ?= ""
TRACES = $(PSPIN_RT)/scripts/traces
CORES = $(wildcard $(TRACE_DIR)trace_core_*)

trace::
	@$(TRACES) text build/$(SPIN_APP_NAME) $(CORES) > $(SPIN_APP_NAME).trace.txt

trace-chrome::
	@$(TRACES) chrome build/$(SPIN_APP_NAME) $(CORES) > $(SPIN_APP_NAME).trace.json

trace-stdout::
	@$(TRACES) text build/$(SPIN_APP_NAME) $(CORES)

trace-chrome-stdout::
	@$(TRACES) chrome build/$(SPIN_APP_NAME) $(CORES)

info:: trace
	@$(TRACES) info $(INFO_KEY) build/$(SPIN_APP_NAME) $(CORES)

stats::
	@$(TRACES) stats transcript

.PHONY: trace trace-chrome trace-stdout trace-chrome-stdout info stats
