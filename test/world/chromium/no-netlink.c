// Preloaded into Chromium: its network service finds no netlink, so it takes the network as it is. It would drop every connection of the
// browser (net::ERR_NETWORK_CHANGED) whenever another test adds or removes an interface or an address on this machine.
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int socket(int domain, int type, int protocol) {
  if (domain == AF_NETLINK) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  return syscall(SYS_socket, domain, type, protocol);
}
