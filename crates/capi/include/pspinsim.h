/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated PsPIN: create it, add packets, run it, and get its events through callbacks.
 *
 * Source compatible with PsPIN a49fec8. A process has at most one simulation at a time. Functions return SPIN_SUCCESS, or
 * SPIN_ERR after an error message on stderr. A bug in the simulator ends the process with exit code 70. Times are in ps of
 * simulated time since reset.
 */
#ifndef SPINET_PSPINSIM_H
#define SPINET_PSPINSIM_H

#include "spin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NIC inbound engine. These fields have no effect. */
typedef struct ni_conf {
    uint32_t axi_aw_buffer;
    uint32_t axi_w_buffer;
    uint32_t axi_b_buffer;
} ni_conf_t;

/* NIC outbound engine. The buffers have no effect. */
typedef struct no_conf {
    uint32_t axi_ar_buffer;
    uint32_t axi_r_buffer;
    double network_G;               /* ns per byte; each whole 64 bytes of a packet take (uint32_t)(G * 64) cycles */
    uint32_t max_pkt_size;          /* bytes */
    uint32_t max_network_queue_len; /* packets */
} no_conf_t;

/* Host memory behind PCIe. */
typedef struct pcie_slv_conf {
    uint32_t axi_aw_buffer; /* beats; the smallest of the five applies to all */
    uint32_t axi_w_buffer;
    uint32_t axi_ar_buffer;
    uint32_t axi_b_buffer;
    uint32_t axi_r_buffer;
    uint32_t pcie_L; /* latency of a beat in ps, in whole cycles, at least 1 cycle */
    double pcie_G;   /* ns per byte; a beat occupies its direction for (uint32_t)(G * 64) cycles */
} pcie_slv_conf_t;

typedef struct pspin_conf {
    const char *slm_files_path; /* folder of memory images, or the ELF file; NULL: $PSPIN_HW/sim_files/slm_files */
    ni_conf_t ni_conf;
    no_conf_t no_conf;
    pcie_slv_conf_t pcie_slv_conf;
} pspin_conf_t;

/* data, bytes */
typedef void (*pkt_out_cb_t)(uint8_t *, size_t);
/* user_ptr of the packet; times: allocated in L2, received by the scheduler, feedback */
typedef void (*pkt_feedback_cb_t)(uint64_t, uint64_t, uint64_t, uint64_t);
/* host address, data, bytes */
typedef void (*pcie_slv_write_cb_t)(uint64_t, uint8_t *, size_t);
typedef void (*pcie_slv_read_cb_t)(uint64_t, uint8_t *, size_t);
/* user_ptr of the access */
typedef void (*pcie_mst_write_cb_t)(void *);
typedef void (*pcie_mst_read_cb_t)(void *);

int pspinsim_default_conf(pspin_conf_t *conf);

/* Create the simulation; `conf` may be NULL. argc and argv have no effect. */
int pspinsim_init(int argc, char **argv, pspin_conf_t *conf);
/* Run until all packets are done. */
int pspinsim_run(void);
/* Run one cycle. `*done_flag` becomes 1 if all packets are done, else 0. */
int pspinsim_run_tick(uint8_t *done_flag);
/* Simulated time. In a callback, the time of the reported event. */
uint64_t pspinsim_time(void);
/* Print statistics and end the simulation. */
int pspinsim_fini(void);

/* Add the packets in two files. */
int pspinsim_packet_trace_read(const char *pkt_file_path, const char *data_file_path);
/*
 * Add a packet after all packets added before. Context and data are copied. The NIC copies `pkt_l1_len` bytes of the packet
 * to L1. The next packet arrives `wait_cycles` cycles later; 0 and 1 mean back to back.
 */
int pspinsim_packet_add(spin_ec_t *ec, uint32_t msgid, uint8_t *pkt_data, size_t pkt_len, size_t pkt_l1_len, uint8_t eom,
                        uint32_t wait_cycles, uint64_t user_ptr);
/* End the packet stream: no more packets will be added. */
int pspinsim_packet_eos(void);

/*
 * Callbacks. A callback may call all functions except run, run_tick, init and fini, and may end the process. It must return:
 * longjmp out of a callback is not allowed, and a C++ exception that leaves one ends the process. NULL removes a callback.
 */
int pspinsim_cb_set_pkt_out(pkt_out_cb_t cb);
int pspinsim_cb_set_pcie_slv_write(pcie_slv_write_cb_t cb);
int pspinsim_cb_set_pcie_slv_read(pcie_slv_read_cb_t cb);
int pspinsim_cb_set_pcie_mst_write_completion(pcie_mst_write_cb_t cb);
int pspinsim_cb_set_pcie_mst_read_completion(pcie_mst_read_cb_t cb);
int pspinsim_cb_set_pkt_feedback(pkt_feedback_cb_t cb);

/* Path of the memory images. */
const char *get_slm_path(void);

#ifdef __cplusplus
}
#endif

#endif
