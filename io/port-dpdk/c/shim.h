/* SPDX-License-Identifier: Apache-2.0
 *
 * What Rust cannot call by itself: DPDK's inline functions, and structures whose layout moves
 * between DPDK releases. Everything here has plain arguments, so 22.11, 23.11 and 24.11 look alike.
 */
#ifndef SLUICE_DPDK_SHIM_H
#define SLUICE_DPDK_SHIM_H

#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf_core.h>

/* Where the fields of struct rte_mbuf lie; bindgen reads them with clang, shim.c with the C
 * compiler, and a test compares the two. */
enum sdp_mbuf_layout {
#define SDP_FIELD(NAME, field) SDP_MBUF_##NAME = offsetof(struct rte_mbuf, field)
	SDP_FIELD(BUF_ADDR, buf_addr),
	SDP_FIELD(DATA_OFF, data_off),
	SDP_FIELD(REFCNT, refcnt),
	SDP_FIELD(NB_SEGS, nb_segs),
	SDP_FIELD(PORT, port),
	SDP_FIELD(OL_FLAGS, ol_flags),
	SDP_FIELD(PACKET_TYPE, packet_type),
	SDP_FIELD(PKT_LEN, pkt_len),
	SDP_FIELD(DATA_LEN, data_len),
	SDP_FIELD(HASH, hash),
	SDP_FIELD(BUF_LEN, buf_len),
	SDP_FIELD(POOL, pool),
	SDP_FIELD(NEXT, next),
	SDP_MBUF_SIZE = sizeof(struct rte_mbuf),
	SDP_HEADROOM = RTE_PKTMBUF_HEADROOM,
	SDP_RX_RSS_HASH = RTE_MBUF_F_RX_RSS_HASH,
#undef SDP_FIELD
};

struct sdp_port_caps {
	char driver[48];
	uint64_t rx_offloads;
	uint64_t tx_offloads;
	uint64_t rss_types;
	uint32_t max_rx_frame;
	int32_t socket;
	uint16_t max_rx_queues;
	uint16_t max_tx_queues;
	uint16_t min_mtu;
	uint16_t max_mtu;
	uint16_t reta_size;
	uint8_t hash_key_size;
	uint8_t mac[6];
};

struct sdp_port_setup {
	uint64_t rx_offloads;
	uint64_t tx_offloads;
	uint64_t rss_types;
	uint16_t rx_queues;
	uint16_t tx_queues;
	uint16_t mtu; /* 0: the driver's default */
};

/* Process */
/* rte_eal_init, with everything that it says on standard error. */
int sdp_eal_init(int argc, char **argv);
int sdp_errno(void);
int sdp_thread_is_registered(void);
uint32_t sdp_version(void);
size_t sdp_mbuf_offset(unsigned which);

/* Ports; a negative errno on failure. Detaching closes the port, and removes its device with its last
 * port; the port must be stopped. */
int sdp_port_caps(uint16_t port, struct sdp_port_caps *out);
int sdp_port_configure(uint16_t port, const struct sdp_port_setup *setup);
int sdp_port_rx_queue(uint16_t port, uint16_t queue, uint16_t descriptors, int socket,
		      struct rte_mempool *pool);
int sdp_port_tx_queue(uint16_t port, uint16_t queue, uint16_t descriptors, int socket);
int sdp_port_add_mac(uint16_t port, const uint8_t mac[6]);
/* 1 if a bus knows the device and a driver takes it: "net_tap0,iface=t", "0000:03:00.0". */
int sdp_device_has_driver(const char *devargs);
int sdp_port_link_is_up(uint16_t port);
int sdp_port_detach(uint16_t port);
extern const uint64_t sdp_rx_scatter, sdp_tx_multi_segs, sdp_rss_ip;

/* 1 if the descriptor has left, 0 if not yet, negative errno if the driver cannot tell. `offset` is
 * counted from the place of the next packet. */
int sdp_tx_done(uint16_t port, uint16_t queue, uint16_t offset);

/* Steering: what a rule matches, and where it sends that. */
struct sdp_flow {
	uint32_t value;	/* of the TEID or of the IPv4 destination, host order */
	uint32_t mask;
	uint32_t priority;
	uint16_t queue;
	uint16_t vlan;
	uint8_t tagged;
	uint8_t item;	/* enum sdp_flow_item */
};

enum sdp_flow_item {
	SDP_FLOW_DESTINATION,	/* IPv4 destination */
	SDP_FLOW_GTPU,		/* TEID, as drivers of the GTPU item know it */
	SDP_FLOW_GTP,		/* TEID, as drivers of the GTP item know it */
};

struct rte_flow;

/* Each returns 0 or a negative errno, and the driver's own words in `why`. */
int sdp_flow_try(uint16_t port, const struct sdp_flow *flow, char *why, size_t size);
int sdp_flow_make(uint16_t port, const struct sdp_flow *flow, struct rte_flow **made, char *why,
		  size_t size);
int sdp_flow_end(uint16_t port, struct rte_flow *made, char *why, size_t size);

/* Hash source and destination of IPv4 packets, the innermost or the outermost, with this key. */
int sdp_hash_by(uint16_t port, int inside, uint8_t *key, uint8_t key_len);
int sdp_set_table(uint16_t port, const uint16_t *queues, uint16_t n);
int sdp_get_table(uint16_t port, uint16_t *queues, uint16_t n);

/* Waiting for packets without polling: what the driver says, 0 or a negative errno. */
int sdp_rx_interrupt(uint16_t port, uint16_t queue);
int sdp_monitor_address(uint16_t port, uint16_t queue);
/* What the processor has. */
enum sdp_wait {
	SDP_WAIT_MONITOR = 1,	/* sleep until a line of memory is written */
	SDP_WAIT_PAUSE = 2,	/* sleep until a time */
	SDP_WAIT_MONITOR_MULTI = 4,
};
unsigned sdp_cpu_waits(void);

/* Packets */
uint16_t sdp_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
uint16_t sdp_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
struct rte_mbuf *sdp_alloc(struct rte_mempool *pool);
unsigned sdp_alloc_bulk(struct rte_mempool *pool, struct rte_mbuf **pkts, unsigned n);
void sdp_free(struct rte_mbuf *pkt);
void sdp_free_bulk(struct rte_mbuf **pkts, unsigned n);
int sdp_linearize(struct rte_mbuf *pkt);
int sdp_chain(struct rte_mbuf *head, struct rte_mbuf *tail);

#endif
