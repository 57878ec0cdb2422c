/*
 * Load over one TCP connection, so cheap that the path between is measured and not this program.
 *
 *   load serve PORT          the resource: answers each request on a connection
 *   load down PORT BYTES     asks for BYTES, prints the seconds until the last one arrived
 *   load up   PORT BYTES     sends BYTES, prints the seconds until the resource said that it had them all
 *   load pace PORT MB S      reads MB a second for S seconds; prints MB/s of the whole, MB/s of the worst second, and the
 *                            longest time that it was behind, ms
 *
 * Request: one byte 'D' or 'U', u64 big-endian count. 'U' is answered by one byte at the end.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 256 * 1024 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int read_all(int fd, char *bytes, size_t count) {
  while (count > 0) {
    ssize_t got = read(fd, bytes, count);
    if (got <= 0) return -1;
    bytes += got;
    count -= (size_t)got;
  }
  return 0;
}

static int send_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
    if (sent <= 0) return -1;
    bytes += sent;
    count -= (size_t)sent;
  }
  return 0;
}

static int push(int fd, char *block, uint64_t left) {
  while (left > 0) {
    size_t part = left > BLOCK ? BLOCK : (size_t)left;
    if (send_all(fd, block, part) != 0) return -1;
    left -= part;
  }
  return 0;
}

static int drain(int fd, char *block, uint64_t left) {
  while (left > 0) {
    ssize_t got = read(fd, block, left > BLOCK ? BLOCK : (size_t)left);
    if (got <= 0) return -1;
    left -= (uint64_t)got;
  }
  return 0;
}

static void no_delay(int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static void *serve_connection(void *argument) {
  int fd = (int)(intptr_t)argument;
  char *block = calloc(1, BLOCK);
  unsigned char request[9];
  no_delay(fd);
  while (read_all(fd, (char *)request, sizeof request) == 0) {
    uint64_t count = 0;
    for (int i = 1; i < 9; i += 1) count = count << 8 | request[i];
    if (request[0] == 'D' ? push(fd, block, count) : drain(fd, block, count) || send_all(fd, "k", 1)) break;
  }
  free(block);
  close(fd);
  return NULL;
}

static int serve(struct sockaddr_in address) {
  int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1024) != 0) {
    perror("load: listen");
    return 1;
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    int fd = accept(listener, NULL, NULL);
    pthread_t thread;
    if (fd >= 0 && pthread_create(&thread, NULL, serve_connection, (void *)(intptr_t)fd) == 0) pthread_detach(thread);
  }
}

static void request(unsigned char *out, char kind, uint64_t count) {
  out[0] = (unsigned char)kind;
  for (int i = 8; i > 0; i -= 1, count >>= 8) out[i] = (unsigned char)count;
}

/* Never ahead of its rate; when bytes come late, it catches up as fast as they come. */
static int pace(int fd, char *block, double rate, uint64_t count) {
  double start = now(), second = start, worst = rate, behind = 0;
  uint64_t got = 0, before = 0;
  while (got < count) {
    double ahead = (double)got / rate - (now() - start);
    if (ahead > 0) {
      struct timespec rest = {(time_t)ahead, (long)((ahead - (double)(time_t)ahead) * 1e9)};
      nanosleep(&rest, NULL);
    }
    ssize_t some = read(fd, block, count - got > BLOCK ? BLOCK : (size_t)(count - got));
    if (some <= 0) return -1;
    got += (uint64_t)some;
    double late = now() - start - (double)got / rate;
    if (late > behind) behind = late;
    if (now() - second >= 1) {
      double speed = (double)(got - before) / (now() - second);
      if (speed < worst) worst = speed;
      before = got, second = now();
    }
  }
  printf("%.1f %.1f %.1f\n", (double)got / (now() - start) / 1e6, worst / 1e6, behind * 1e3);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return fputs("usage: load serve PORT | down PORT BYTES | up PORT BYTES | pace PORT MB SECONDS\n", stderr), 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (strcmp(argv[1], "serve") == 0) return serve(address);
  int fd = socket(AF_INET, SOCK_STREAM, 0), up = strcmp(argv[1], "up") == 0;
  struct timeval limit = {120, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (argc < 4 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) return perror("load: connect"), 1;
  no_delay(fd);
  char *block = calloc(1, BLOCK);
  unsigned char out[9];
  int paced = strcmp(argv[1], "pace") == 0 && argc > 4;
  uint64_t count = strtoull(argv[3], NULL, 10) * (paced ? 1000000 * strtoull(argv[4], NULL, 10) : 1);
  request(out, 'D', 1); /* one byte first: the path is open before the clock starts */
  if (send_all(fd, (char *)out, 9) != 0 || read_all(fd, block, 1) != 0) return fputs("load: no answer\n", stderr), 1;
  double start = now();
  request(out, up ? 'U' : 'D', count);
  if (send_all(fd, (char *)out, 9) != 0) return 1;
  if (paced) return pace(fd, block, strtod(argv[3], NULL) * 1e6, count) == 0 ? 0 : (fputs("load: cut short\n", stderr), 1);
  if (up ? push(fd, block, count) || read_all(fd, block, 1) : drain(fd, block, count)) return fputs("load: cut short\n", stderr), 1;
  printf("%.4f\n", now() - start);
  return 0;
}
