/* SPDX-License-Identifier: Apache-2.0
 *
 * Flow rules, hashes, and ways of waiting: structures with bit fields and unions that move between
 * DPDK releases.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cpuflags.h>
#include <rte_flow.h>
#include <rte_power_intrinsics.h>
#include "wrapper.h"

/* eth, vlan, ipv4, udp, gtpu, end */
#define ITEMS 6

/* The rule as DPDK wants it; its parts point at each other. */
struct rule {
	struct rte_flow_attr attr;
	struct rte_flow_item items[ITEMS];
	struct rte_flow_action actions[2];
	struct rte_flow_action_queue queue;
	struct rte_flow_item_vlan vlan, vlan_mask;
	struct rte_flow_item_ipv4 ip, ip_mask;
	struct rte_flow_item_gtp gtp, gtp_mask;
};

static void item(struct rule *rule, unsigned *n, enum rte_flow_item_type type, const void *spec,
		 const void *mask)
{
	rule->items[*n].type = type;
	rule->items[*n].spec = spec;
	rule->items[*n].mask = mask;
	*n += 1;
}

static void lay_out(struct rule *rule, const struct sdp_flow *flow)
{
	unsigned n = 0;

	memset(rule, 0, sizeof(*rule));
	rule->attr.ingress = 1;
	rule->attr.priority = flow->priority;
	item(rule, &n, RTE_FLOW_ITEM_TYPE_ETH, NULL, NULL);
	if (flow->tagged) {
		rule->vlan.tci = rte_cpu_to_be_16(flow->vlan);
		rule->vlan_mask.tci = rte_cpu_to_be_16(0x0fff);
		item(rule, &n, RTE_FLOW_ITEM_TYPE_VLAN, &rule->vlan, &rule->vlan_mask);
	}
	if (flow->item == SDP_FLOW_DESTINATION) {
		rule->ip.hdr.dst_addr = rte_cpu_to_be_32(flow->value);
		rule->ip_mask.hdr.dst_addr = rte_cpu_to_be_32(flow->mask);
		item(rule, &n, RTE_FLOW_ITEM_TYPE_IPV4, &rule->ip, &rule->ip_mask);
	} else {
		rule->gtp.teid = rte_cpu_to_be_32(flow->value);
		rule->gtp_mask.teid = rte_cpu_to_be_32(flow->mask);
		item(rule, &n, RTE_FLOW_ITEM_TYPE_IPV4, NULL, NULL);
		item(rule, &n, RTE_FLOW_ITEM_TYPE_UDP, NULL, NULL);
		item(rule, &n,
		     flow->item == SDP_FLOW_GTP ? RTE_FLOW_ITEM_TYPE_GTP
						: RTE_FLOW_ITEM_TYPE_GTPU,
		     &rule->gtp, &rule->gtp_mask);
	}
	item(rule, &n, RTE_FLOW_ITEM_TYPE_END, NULL, NULL);
	rule->queue.index = flow->queue;
	rule->actions[0].type = RTE_FLOW_ACTION_TYPE_QUEUE;
	rule->actions[0].conf = &rule->queue;
	rule->actions[1].type = RTE_FLOW_ACTION_TYPE_END;
}

static int told(int rc, const struct rte_flow_error *error, char *why, size_t size)
{
	snprintf(why, size, "%s", rc != 0 && error->message ? error->message : "");
	return rc;
}

int sdp_flow_try(uint16_t port, const struct sdp_flow *flow, char *why, size_t size)
{
	struct rte_flow_error error = { 0 };
	struct rule rule;

	lay_out(&rule, flow);
	return told(rte_flow_validate(port, &rule.attr, rule.items, rule.actions, &error), &error,
		    why, size);
}

int sdp_flow_make(uint16_t port, const struct sdp_flow *flow, struct rte_flow **made, char *why,
		  size_t size)
{
	struct rte_flow_error error = { 0 };
	struct rule rule;

	lay_out(&rule, flow);
	*made = rte_flow_create(port, &rule.attr, rule.items, rule.actions, &error);
	if (*made != NULL)
		return told(0, &error, why, size);
	return told(rte_errno > 0 ? -rte_errno : -EIO, &error, why, size);
}

int sdp_flow_end(uint16_t port, struct rte_flow *made, char *why, size_t size)
{
	struct rte_flow_error error = { 0 };

	return told(rte_flow_destroy(port, made, &error), &error, why, size);
}

int sdp_hash_by(uint16_t port, int inside, uint8_t *key, uint8_t key_len)
{
	struct rte_eth_rss_conf conf = {
		.rss_key = key,
		.rss_key_len = key_len,
		/* No fragments: they have no ports, but those of one packet belong together. */
		.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |
			  RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV4_SCTP |
			  RTE_ETH_RSS_NONFRAG_IPV4_OTHER,
	};
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(port, &info);

	if (rc != 0)
		return rc;
	if (!(info.flow_type_rss_offloads & RTE_ETH_RSS_IPV4))
		return -ENOTSUP;
	conf.rss_hf &= info.flow_type_rss_offloads;
	/* A driver that does not know of levels must not take it for a yes. */
	if (inside && (info.flow_type_rss_offloads & RTE_ETH_RSS_LEVEL_MASK) == 0)
		return -ENOTSUP;
	if (inside)
		conf.rss_hf |= RTE_ETH_RSS_LEVEL_INNERMOST;
	return rte_eth_dev_rss_hash_update(port, &conf);
}

#define GROUPS_MAX (RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE * 4)

int sdp_set_table(uint16_t port, const uint16_t *queues, uint16_t n)
{
	struct rte_eth_rss_reta_entry64 table[GROUPS_MAX] = { 0 };
	unsigned i;

	if (n > GROUPS_MAX * RTE_ETH_RETA_GROUP_SIZE)
		return -E2BIG;
	for (i = 0; i < n; i++) {
		table[i / RTE_ETH_RETA_GROUP_SIZE].mask |= 1ULL << i % RTE_ETH_RETA_GROUP_SIZE;
		table[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = queues[i];
	}
	return rte_eth_dev_rss_reta_update(port, table, n);
}

int sdp_get_table(uint16_t port, uint16_t *queues, uint16_t n)
{
	struct rte_eth_rss_reta_entry64 table[GROUPS_MAX] = { 0 };
	unsigned i;
	int rc;

	if (n > GROUPS_MAX * RTE_ETH_RETA_GROUP_SIZE)
		return -E2BIG;
	for (i = 0; i < GROUPS_MAX; i++)
		table[i].mask = UINT64_MAX;
	rc = rte_eth_dev_rss_reta_query(port, table, n);
	for (i = 0; rc == 0 && i < n; i++)
		queues[i] = table[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
	return rc;
}

int sdp_rx_interrupt(uint16_t port, uint16_t queue)
{
	int rc = rte_eth_dev_rx_intr_enable(port, queue);

	if (rc != 0)
		return rc;
	return rte_eth_dev_rx_intr_disable(port, queue);
}

int sdp_monitor_address(uint16_t port, uint16_t queue)
{
	struct rte_power_monitor_cond condition;

	return rte_eth_get_monitor_addr(port, queue, &condition);
}

unsigned sdp_cpu_waits(void)
{
	struct rte_cpu_intrinsics has = { 0 };

	rte_cpu_get_intrinsics_support(&has);
	return (has.power_monitor ? SDP_WAIT_MONITOR : 0) |
	       (has.power_pause ? SDP_WAIT_PAUSE : 0) |
	       (has.power_monitor_multi ? SDP_WAIT_MONITOR_MULTI : 0);
}
