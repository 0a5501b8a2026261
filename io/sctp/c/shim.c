/* usrsctp in AF_CONN mode without threads, for Rust. SPDX-License-Identifier: Apache-2.0 */
#include "shim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <usrsctp.h>

/* What NGAP has no use for is not offered: less to parse, less on the wire. */
void sls_start(sls_output output)
{
    usrsctp_init_nothreads(0, output, NULL);
    usrsctp_sysctl_set_sctp_ecn_enable(0);
    usrsctp_sysctl_set_sctp_asconf_enable(0);
    usrsctp_sysctl_set_sctp_auto_asconf(0);
    usrsctp_sysctl_set_sctp_auth_enable(0);
    usrsctp_sysctl_set_sctp_reconfig_enable(0);
    usrsctp_sysctl_set_sctp_nrsack_enable(0);
    usrsctp_sysctl_set_sctp_pktdrop_enable(0);
    usrsctp_sysctl_set_sctp_pr_enable(0);
    usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
}

static int set(struct socket *so, int level, int option, const void *value, socklen_t bytes)
{
    return usrsctp_setsockopt(so, level, option, value, bytes);
}

static int set_flag(struct socket *so, int option, int value)
{
    return set(so, IPPROTO_SCTP, option, &value, sizeof value);
}

static int configure(struct socket *so, const struct sls_config *config)
{
    /* A socket that closes aborts what is open. */
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    struct sctp_event event = {
        .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_ASSOC_CHANGE, .se_on = 1};
    struct sctp_initmsg init = {.sinit_num_ostreams = config->streams,
                                .sinit_max_instreams = config->streams,
                                .sinit_max_attempts = config->init_attempts,
                                .sinit_max_init_timeo = (uint16_t)config->rto_max_ms};
    struct sctp_rtoinfo rto = {.srto_assoc_id = SCTP_FUTURE_ASSOC,
                               .srto_initial = config->rto_initial_ms,
                               .srto_min = config->rto_min_ms,
                               .srto_max = config->rto_max_ms};
    struct sctp_sack_info sack = {.sack_assoc_id = SCTP_FUTURE_ASSOC,
                                  .sack_delay = config->sack_ms};
    struct sctp_assocparams association;
    struct sctp_paddrparams path;
    int point = (int)config->message_bytes;
    /* Room for some messages of the greatest length. */
    int room = 4 * point;

    memset(&association, 0, sizeof association);
    association.sasoc_asocmaxrxt = config->retransmissions;
    memset(&path, 0, sizeof path);
    path.spp_assoc_id = SCTP_FUTURE_ASSOC;
    path.spp_hbinterval = config->heartbeat_ms;
    path.spp_pathmaxrxt = config->retransmissions;
    path.spp_flags = SPP_HB_ENABLE;
    return usrsctp_set_non_blocking(so, 1) ||
           set(so, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) ||
           set(so, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) ||
           set(so, SOL_SOCKET, SO_SNDBUF, &room, sizeof room) || set_flag(so, SCTP_NODELAY, 1) ||
           set_flag(so, SCTP_RECVRCVINFO, 1) ||
           set_flag(so, SCTP_FRAGMENT_INTERLEAVE, 1) ||
           set_flag(so, SCTP_PARTIAL_DELIVERY_POINT, point) ||
           set(so, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event) ||
           set(so, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init) ||
           set(so, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto) ||
           set(so, IPPROTO_SCTP, SCTP_DELAYED_SACK, &sack, sizeof sack) ||
           set(so, IPPROTO_SCTP, SCTP_ASSOCINFO, &association, sizeof association) ||
           set(so, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path);
}

static struct sockaddr_conn address(void *peer, uint16_t port)
{
    struct sockaddr_conn conn;
    memset(&conn, 0, sizeof conn);
    conn.sconn_family = AF_CONN;
    conn.sconn_port = htons(port);
    conn.sconn_addr = peer;
    return conn;
}

/* One socket for all associations of a port; NULL: errno says why not. */
void *sls_open(const struct sls_config *config)
{
    struct socket *so =
        usrsctp_socket(AF_CONN, SOCK_SEQPACKET, IPPROTO_SCTP, NULL, NULL, 0, NULL);
    struct sockaddr_conn any = address(NULL, config->port);
    if (!so)
        return NULL;
    if (configure(so, config) || usrsctp_bind(so, (struct sockaddr *)&any, sizeof any) ||
        usrsctp_listen(so, 1)) {
        int why = errno;
        usrsctp_close(so);
        errno = why;
        return NULL;
    }
    return so;
}

void sls_close(void *socket) { usrsctp_close(socket); }

void sls_peer_add(void *peer) { usrsctp_register_address(peer); }

void sls_peer_remove(void *peer) { usrsctp_deregister_address(peer); }

int sls_connect(void *socket, void *peer, uint16_t port, uint32_t *association)
{
    struct sockaddr_conn conn = address(peer, port);
    if (usrsctp_connect(socket, (struct sockaddr *)&conn, sizeof conn) && errno != EINPROGRESS)
        return errno;
    *association = usrsctp_getassocid(socket, (struct sockaddr *)&conn);
    return *association ? 0 : ENOTCONN;
}

int sls_send(void *socket, uint32_t association, uint16_t stream, uint32_t ppid, uint16_t flags,
             const void *octets, size_t length)
{
    struct sctp_sndinfo info = {.snd_sid = stream,
                                .snd_flags = flags,
                                .snd_ppid = htonl(ppid),
                                .snd_assoc_id = association};
    ssize_t sent = usrsctp_sendv(socket, octets, length, NULL, 0, &info, sizeof info,
                                 SCTP_SENDV_SNDINFO, 0);
    return sent < 0 ? errno : 0;
}

/* usrsctp wants an address, also of nothing. */
int sls_abort(void *socket, uint32_t association)
{
    return sls_send(socket, association, 0, 0, SCTP_ABORT, "", 0);
}

int sls_shutdown(void *socket, uint32_t association)
{
    return sls_send(socket, association, 0, 0, SCTP_EOF, "", 0);
}

static void read_notification(const void *room, size_t length, struct sls_received *received)
{
    struct sctp_assoc_change change;
    received->kind = SLS_OTHER;
    /* The information behind it is of no use here. */
    if (length < sizeof change)
        return;
    memcpy(&change, room, sizeof change);
    if (change.sac_type != SCTP_ASSOC_CHANGE)
        return;
    received->association = change.sac_assoc_id;
    received->outbound_streams = change.sac_outbound_streams;
    received->was_aborted = change.sac_error != 0;
    switch (change.sac_state) {
    case SCTP_COMM_UP: received->kind = SLS_UP; break;
    case SCTP_RESTART: received->kind = SLS_RESTART; break;
    case SCTP_COMM_LOST: received->kind = SLS_LOST; break;
    case SCTP_SHUTDOWN_COMP: received->kind = SLS_ENDED; break;
    case SCTP_CANT_STR_ASSOC: received->kind = SLS_REFUSED; break;
    default: break;
    }
}

/* 1: something was received, 0: nothing is there. */
int sls_receive(void *socket, void *room, size_t bytes, struct sls_received *received)
{
    struct sockaddr_conn from;
    struct sctp_rcvinfo info;
    socklen_t from_bytes = sizeof from, info_bytes = sizeof info;
    unsigned int type = SCTP_RECVV_NOINFO;
    int flags = 0;
    ssize_t length;

    memset(&from, 0, sizeof from);
    memset(&info, 0, sizeof info);
    memset(received, 0, sizeof *received);
    length = usrsctp_recvv(socket, room, bytes, (struct sockaddr *)&from, &from_bytes, &info,
                           &info_bytes, &type, &flags);
    if (length <= 0)
        return 0;
    received->peer = (uint64_t)(uintptr_t)from.sconn_addr;
    received->length = (uint32_t)length;
    if (flags & MSG_NOTIFICATION) {
        read_notification(room, (size_t)length, received);
        return 1;
    }
    received->kind = SLS_MESSAGE;
    received->is_last = (flags & MSG_EOR) != 0;
    if (type == SCTP_RECVV_RCVINFO) {
        received->association = info.rcv_assoc_id;
        received->stream = info.rcv_sid;
        received->ppid = ntohl(info.rcv_ppid);
    }
    return 1;
}

void sls_input(void *peer, const void *octets, size_t length)
{
    usrsctp_conninput(peer, octets, length, 0);
}

void sls_time(uint32_t elapsed_ms) { usrsctp_handle_timers(elapsed_ms); }
