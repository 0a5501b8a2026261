/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_devargs.h>
#include <rte_log.h>
#include <rte_version.h>
#include "wrapper.h"

const uint64_t sdp_rx_scatter = RTE_ETH_RX_OFFLOAD_SCATTER;
const uint64_t sdp_tx_multi_segs = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
const uint64_t sdp_rss_ip = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP;

int sdp_eal_init(int argc, char **argv)
{
	int saved, rc;

	/* Logs go where this says; the usage text is printed to standard output. */
	rte_openlog_stream(stderr);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	rc = rte_eal_init(argc, argv);
	fflush(stdout);
	if (saved >= 0) {
		dup2(saved, STDOUT_FILENO);
		close(saved);
	}
	return rc;
}

int sdp_errno(void)
{
	return rte_errno;
}

int sdp_thread_is_registered(void)
{
	return rte_lcore_id() != LCORE_ID_ANY;
}

uint32_t sdp_version(void)
{
	return RTE_VER_YEAR * 100 + RTE_VER_MONTH;
}

size_t sdp_mbuf_offset(unsigned which)
{
	static const size_t offsets[] = {
		SDP_MBUF_BUF_ADDR, SDP_MBUF_DATA_OFF, SDP_MBUF_REFCNT, SDP_MBUF_NB_SEGS,
		SDP_MBUF_PORT, SDP_MBUF_OL_FLAGS, SDP_MBUF_PACKET_TYPE, SDP_MBUF_PKT_LEN,
		SDP_MBUF_DATA_LEN, SDP_MBUF_HASH, SDP_MBUF_BUF_LEN, SDP_MBUF_POOL,
		SDP_MBUF_NEXT, SDP_MBUF_SIZE,
	};
	return which < RTE_DIM(offsets) ? offsets[which] : SIZE_MAX;
}

int sdp_port_caps(uint16_t port, struct sdp_port_caps *out)
{
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	int rc = rte_eth_dev_info_get(port, &info);

	if (rc != 0)
		return rc;
	rc = rte_eth_macaddr_get(port, &mac);
	if (rc != 0)
		return rc;
	*out = (struct sdp_port_caps){
		.rx_offloads = info.rx_offload_capa,
		.tx_offloads = info.tx_offload_capa,
		.rss_types = info.flow_type_rss_offloads,
		.max_rx_frame = info.max_rx_pktlen,
		.socket = rte_eth_dev_socket_id(port),
		.max_rx_queues = info.max_rx_queues,
		.max_tx_queues = info.max_tx_queues,
		.min_mtu = info.min_mtu,
		.max_mtu = info.max_mtu,
		.reta_size = info.reta_size,
		.hash_key_size = info.hash_key_size,
	};
	snprintf(out->driver, sizeof(out->driver), "%s", info.driver_name ? info.driver_name : "");
	memcpy(out->mac, mac.addr_bytes, sizeof(out->mac));
	return 0;
}

int sdp_port_configure(uint16_t port, const struct sdp_port_setup *setup)
{
	struct rte_eth_conf conf = {
		.rxmode = { .mtu = setup->mtu, .offloads = setup->rx_offloads },
		.txmode = { .offloads = setup->tx_offloads },
	};

	if (setup->rx_queues > 1 && setup->rss_types != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = setup->rss_types;
	}
	return rte_eth_dev_configure(port, setup->rx_queues, setup->tx_queues, &conf);
}

int sdp_port_rx_queue(uint16_t port, uint16_t queue, uint16_t descriptors, int socket,
		      struct rte_mempool *pool)
{
	return rte_eth_rx_queue_setup(port, queue, descriptors, (unsigned)socket, NULL, pool);
}

int sdp_port_tx_queue(uint16_t port, uint16_t queue, uint16_t descriptors, int socket)
{
	return rte_eth_tx_queue_setup(port, queue, descriptors, (unsigned)socket, NULL);
}

int sdp_port_add_mac(uint16_t port, const uint8_t mac[6])
{
	struct rte_ether_addr addr;

	memcpy(addr.addr_bytes, mac, sizeof(addr.addr_bytes));
	return rte_eth_dev_mac_addr_add(port, &addr, 0);
}

int sdp_device_has_driver(const char *text)
{
	struct rte_devargs devargs;

	memset(&devargs, 0, sizeof(devargs));
	if (rte_devargs_parse(&devargs, text) != 0)
		return 0;
	free(devargs.data);
	return 1;
}

int sdp_port_link_is_up(uint16_t port)
{
	struct rte_eth_link link;
	int rc = rte_eth_link_get_nowait(port, &link);

	return rc < 0 ? rc : link.link_status == RTE_ETH_LINK_UP;
}

int sdp_port_detach(uint16_t port)
{
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(port, &info);

	if (rc != 0)
		return rc;
	rc = rte_eth_dev_close(port);
	if (rc != 0)
		return rc;
	RTE_ETH_FOREACH_DEV_OF(port, info.device)
		return 0;
	return rte_dev_remove(info.device);
}

int sdp_tx_done(uint16_t port, uint16_t queue, uint16_t offset)
{
	int status = rte_eth_tx_descriptor_status(port, queue, offset);

	return status < 0 ? status : status == RTE_ETH_TX_DESC_DONE;
}

uint16_t sdp_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	return rte_eth_rx_burst(port, queue, pkts, n);
}

uint16_t sdp_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	return rte_eth_tx_burst(port, queue, pkts, n);
}

struct rte_mbuf *sdp_alloc(struct rte_mempool *pool)
{
	return rte_pktmbuf_alloc(pool);
}

unsigned sdp_alloc_bulk(struct rte_mempool *pool, struct rte_mbuf **pkts, unsigned n)
{
	unsigned i;

	if (rte_mempool_get_bulk(pool, (void **)pkts, n) != 0)
		return 0;
	/* Another core may have had them last: all their lines come at the same time. */
	for (i = 0; i < n; i++) {
		const char *data = (char *)rte_mbuf_buf_addr(pkts[i], pool) + RTE_PKTMBUF_HEADROOM;

		rte_prefetch0_write(pkts[i]);
		rte_prefetch0_write((char *)pkts[i] + RTE_CACHE_LINE_MIN_SIZE);
		rte_prefetch0_write(data);
		rte_prefetch0_write(data + RTE_CACHE_LINE_MIN_SIZE);
	}
	for (i = 0; i < n; i++)
		rte_pktmbuf_reset(pkts[i]);
	return n;
}

void sdp_free(struct rte_mbuf *pkt)
{
	rte_pktmbuf_free(pkt);
}

void sdp_free_bulk(struct rte_mbuf **pkts, unsigned n)
{
	rte_pktmbuf_free_bulk(pkts, n);
}

int sdp_linearize(struct rte_mbuf *pkt)
{
	return rte_pktmbuf_linearize(pkt);
}

int sdp_chain(struct rte_mbuf *head, struct rte_mbuf *tail)
{
	return rte_pktmbuf_chain(head, tail);
}
