/* SPDX-License-Identifier: Apache-2.0 */
/* Prints offsets of fields, values of constants, and the defaults that the library fills in. */
#include <stddef.h>
#include <stdio.h>

#include "gdriver.h"
#include "pspinsim.h"

#define FIELD(type, field) printf(" %s@%zu", #field, offsetof(type, field))
#define TYPE(type) printf("%s %zu bytes:", #type, sizeof(type))

int main(void)
{
    TYPE(spin_ec_t);
    FIELD(spin_ec_t, handler_mem_addr), FIELD(spin_ec_t, handler_mem_size), FIELD(spin_ec_t, host_mem_addr);
    FIELD(spin_ec_t, host_mem_size), FIELD(spin_ec_t, hh_addr), FIELD(spin_ec_t, hh_size), FIELD(spin_ec_t, ph_addr);
    FIELD(spin_ec_t, ph_size), FIELD(spin_ec_t, th_addr), FIELD(spin_ec_t, th_size);
    FIELD(spin_ec_t, scratchpad_addr), FIELD(spin_ec_t, scratchpad_size);
    puts("");
    TYPE(ni_conf_t);
    FIELD(ni_conf_t, axi_aw_buffer), FIELD(ni_conf_t, axi_w_buffer), FIELD(ni_conf_t, axi_b_buffer);
    puts("");
    TYPE(no_conf_t);
    FIELD(no_conf_t, axi_ar_buffer), FIELD(no_conf_t, axi_r_buffer), FIELD(no_conf_t, network_G);
    FIELD(no_conf_t, max_pkt_size), FIELD(no_conf_t, max_network_queue_len);
    puts("");
    TYPE(pcie_slv_conf_t);
    FIELD(pcie_slv_conf_t, axi_aw_buffer), FIELD(pcie_slv_conf_t, axi_w_buffer), FIELD(pcie_slv_conf_t, axi_ar_buffer);
    FIELD(pcie_slv_conf_t, axi_b_buffer), FIELD(pcie_slv_conf_t, axi_r_buffer), FIELD(pcie_slv_conf_t, pcie_L);
    FIELD(pcie_slv_conf_t, pcie_G);
    puts("");
    TYPE(pspin_conf_t);
    FIELD(pspin_conf_t, slm_files_path), FIELD(pspin_conf_t, ni_conf), FIELD(pspin_conf_t, no_conf);
    FIELD(pspin_conf_t, pcie_slv_conf);
    puts("");
    printf("addresses %zu, sizes %zu, host %zu, nic %zu bytes\n", sizeof(mem_addr_t), sizeof(mem_size_t),
           sizeof(host_addr_t), sizeof(spin_nic_addr_t));

    printf("%d clusters of %d cores, %d bits of msgid\n", NUM_CLUSTERS, NUM_CORES, C_MSGID_WIDTH);
    printf("host %llx, L1 %x, runtime %x %x, packets %x %x, scratchpads %x %x, L2 packets %x %d\n",
           (unsigned long long)PCIE_START_ADDR, L1_CLUSTER_ACTUAL_MEM_SIZE, L1_RUNTIME_OFFSET, L1_RUNTIME_SIZE,
           L1_PKT_BUFF_OFFSET, L1_PKT_BUFF_SIZE, L1_SCRATCHPAD_OFFSET, L1_SCRATCHPAD_SIZE, L2_PKT_BUFF_START,
           L2_PKT_BUFF_SIZE);
    printf("%d %d %d %d %d\n", SPIN_SUCCESS, SPIN_ERR, GDRIVER_OK, GDRIVER_ERR, GDRIVER_MATCHING_CTX_MAXSIZE);

    pspin_conf_t conf;
    if (pspinsim_default_conf(&conf) != SPIN_SUCCESS)
        return 1;
    ni_conf_t *ni = &conf.ni_conf;
    no_conf_t *no = &conf.no_conf;
    pcie_slv_conf_t *pcie = &conf.pcie_slv_conf;
    printf("%s; %u %u %u; %u %u %g %u %u; %u %u %u %u %u %u %g\n", conf.slm_files_path ? "path" : "no path",
           ni->axi_aw_buffer, ni->axi_w_buffer, ni->axi_b_buffer, no->axi_ar_buffer, no->axi_r_buffer, no->network_G,
           no->max_pkt_size, no->max_network_queue_len, pcie->axi_aw_buffer, pcie->axi_w_buffer, pcie->axi_ar_buffer,
           pcie->axi_b_buffer, pcie->axi_r_buffer, pcie->pcie_L, pcie->pcie_G);
    return 0;
}
