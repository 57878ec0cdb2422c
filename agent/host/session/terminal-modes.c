#define _GNU_SOURCE
#include "terminal-modes.h"

#include <stddef.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

/* By opcode; those without a character are VDSUSP, VFLUSH, VSWTCH and VSTATUS, which Linux does not have. */
static const struct {
  unsigned long opcode;
  int place;
} characters[] = {
    {1, VINTR}, {2, VQUIT}, {3, VERASE}, {4, VKILL}, {5, VEOF}, {6, VEOL}, {7, VEOL2},
    {8, VSTART}, {9, VSTOP}, {10, VSUSP}, {12, VREPRINT}, {13, VWERASE}, {14, VLNEXT}, {18, VDISCARD},
};

#define input offsetof(struct termios, c_iflag)
#define output offsetof(struct termios, c_oflag)
#define control offsetof(struct termios, c_cflag)
#define local offsetof(struct termios, c_lflag)

static const struct {
  unsigned long opcode;
  size_t field;
  tcflag_t flag;
} flags[] = {
    {30, input, IGNPAR}, {31, input, PARMRK}, {32, input, INPCK}, {33, input, ISTRIP}, {34, input, INLCR},
    {35, input, IGNCR}, {36, input, ICRNL}, {37, input, IUCLC}, {38, input, IXON}, {39, input, IXANY},
    {40, input, IXOFF}, {41, input, IMAXBEL}, {42, input, IUTF8},
    {50, local, ISIG}, {51, local, ICANON}, {52, local, XCASE}, {53, local, ECHO}, {54, local, ECHOE},
    {55, local, ECHOK}, {56, local, ECHONL}, {57, local, NOFLSH}, {58, local, TOSTOP}, {59, local, IEXTEN},
    {60, local, ECHOCTL}, {61, local, ECHOKE}, {62, local, PENDIN},
    {70, output, OPOST}, {71, output, OLCUC}, {72, output, ONLCR}, {73, output, OCRNL}, {74, output, ONOCR}, {75, output, ONLRET},
    {90, control, CS7}, {91, control, CS8}, {92, control, PARENB}, {93, control, PARODD},
};

static const struct {
  unsigned long rate;
  speed_t speed;
} speeds[] = {
    {0, B0}, {50, B50}, {75, B75}, {110, B110}, {134, B134}, {150, B150}, {200, B200}, {300, B300}, {600, B600}, {1200, B1200},
    {1800, B1800}, {2400, B2400}, {4800, B4800}, {9600, B9600}, {19200, B19200}, {38400, B38400}, {57600, B57600},
    {115200, B115200}, {230400, B230400}, {460800, B460800}, {500000, B500000}, {576000, B576000}, {921600, B921600},
    {1000000, B1000000}, {1152000, B1152000}, {1500000, B1500000}, {2000000, B2000000}, {2500000, B2500000},
    {3000000, B3000000}, {3500000, B3500000}, {4000000, B4000000},
};

enum { input_speed = 128, output_speed = 129, switched_off = 255 };

static void set_speed(struct termios *terminal, unsigned long opcode, unsigned long rate) {
  for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
    if (speeds[i].rate != rate) continue;
    if (opcode == input_speed) cfsetispeed(terminal, speeds[i].speed);
    else cfsetospeed(terminal, speeds[i].speed);
  }
}

static void set_mode(struct termios *terminal, unsigned long opcode, unsigned long value) {
  for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
    if (characters[i].opcode == opcode) terminal->c_cc[characters[i].place] = value == switched_off ? _POSIX_VDISABLE : (cc_t)value;
  }
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    if (flags[i].opcode != opcode) continue;
    tcflag_t *field = (tcflag_t *)((char *)terminal + flags[i].field);
    *field = value == 0 ? *field & ~flags[i].flag : *field | flags[i].flag;
  }
  if (opcode == input_speed || opcode == output_speed) set_speed(terminal, opcode, value);
}

void set_modes(int terminal, const char *modes) {
  struct termios wanted;
  if (tcgetattr(terminal, &wanted) != 0) return;
  for (char *at = (char *)modes; *at != '\0';) {
    char *end;
    unsigned long opcode = strtoul(at, &end, 10);
    if (end == at || *end != ':') break;
    at = end + 1;
    unsigned long value = strtoul(at, &end, 10);
    if (end == at || (*end != ',' && *end != '\0')) break;
    set_mode(&wanted, opcode, value);
    at = *end == ',' ? end + 1 : end;
  }
  tcsetattr(terminal, TCSANOW, &wanted);
}
