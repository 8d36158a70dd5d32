// SPDX-License-Identifier: Apache-2.0
/* Messages over a TCP socket without any library: what carries one is its payload and the headers
 * of its IMPI packets, in one piece in memory, sent by as few calls as the socket takes; the
 * receiving side takes whatever is there. Both sides spin on a socket that does not block, as
 * impishim's waiting calls do. A failed call ends the process. */
#ifndef IMPISHIM_TESTS_BENCH_RAW_STREAM_H
#define IMPISHIM_TESTS_BENCH_RAW_STREAM_H

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Bytes of an IMPI packet's header, and of payload in a packet by IMPI's usual C_DATALEN, which is
 * impishim's default. */
enum { kRawHeader = 128, kRawPacketPayload = 65536 };

static inline void raw_fail(const char* call) {
  fprintf(stderr, "%s: %s\n", call, strerror(errno));
  exit(1);
}

static inline size_t raw_bytes_of(size_t size) {
  return size + kRawHeader * ((size + kRawPacketPayload - 1) / kRawPacketPayload);
}

static inline void raw_send_all(int connection, const char* from, size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(connection, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) raw_fail("send");
    if (sent <= 0) continue;
    from += sent;
    bytes -= (size_t)sent;
  }
}

static inline void raw_receive_all(int connection, char* to, size_t bytes) {
  while (bytes > 0) {
    const ssize_t received = recv(connection, to, bytes, MSG_DONTWAIT);
    if (received == 0) errno = ECONNRESET;
    if (received == 0 || (received < 0 && errno != EAGAIN)) raw_fail("recv");
    if (received < 0) continue;
    to += received;
    bytes -= (size_t)received;
  }
}

static inline void raw_ping_pong(int connection, int leads, char* out, char* in, size_t bytes,
                                 long rounds) {
  for (long i = 0; i < rounds; ++i) {
    if (leads) raw_send_all(connection, out, bytes);
    raw_receive_all(connection, in, bytes);
    if (!leads) raw_send_all(connection, in, bytes);
  }
}

/* A socket that listens on the loopback interface; its address comes into `address`. */
static inline int raw_listen(struct sockaddr_in* address) {
  socklen_t length = sizeof(*address);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  memset(address, 0, sizeof(*address));
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (const struct sockaddr*)address, length) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, (struct sockaddr*)address, &length) != 0) {
    raw_fail("listen");
  }
  return listener;
}

static inline int raw_connect(const struct sockaddr_in* address) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(connection, (const struct sockaddr*)address, sizeof(*address)) != 0)
    raw_fail("connect");
  return connection;
}

/* Short messages leave at once. */
static inline void raw_prepare(int connection) {
  const int on = 1;
  if (connection < 0 || setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
    raw_fail("setsockopt");
}

#endif
