/* The part of usrsctp that Sluice needs, with plain arguments. SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Times are in milliseconds. */
struct sls_config {
    uint16_t port;
    uint16_t streams;
    uint16_t init_attempts;
    uint16_t retransmissions;
    uint32_t rto_initial_ms;
    uint32_t rto_min_ms;
    uint32_t rto_max_ms;
    uint32_t heartbeat_ms;
    uint32_t sack_ms;
    uint32_t message_bytes;
};

enum sls_kind { SLS_MESSAGE, SLS_UP, SLS_RESTART, SLS_LOST, SLS_ENDED, SLS_REFUSED, SLS_OTHER };

struct sls_received {
    uint64_t peer;
    uint32_t association;
    uint32_t ppid;
    uint32_t length;
    uint16_t stream;
    uint16_t outbound_streams;
    uint8_t kind;
    uint8_t is_last;
    uint8_t was_aborted;
    uint8_t padding[5];
};

typedef int (*sls_output)(void *peer, void *octets, size_t length, uint8_t tos, uint8_t df);

void sls_start(sls_output output);
void *sls_open(const struct sls_config *config);
void sls_close(void *socket);
void sls_peer_add(void *peer);
void sls_peer_remove(void *peer);
int sls_connect(void *socket, void *peer, uint16_t port, uint32_t *association);
int sls_send(void *socket, uint32_t association, uint16_t stream, uint32_t ppid, uint16_t flags,
             const void *octets, size_t length);
int sls_abort(void *socket, uint32_t association);
int sls_shutdown(void *socket, uint32_t association);
int sls_receive(void *socket, void *room, size_t bytes, struct sls_received *received);
void sls_input(void *peer, const void *octets, size_t length);
void sls_time(uint32_t elapsed_ms);
