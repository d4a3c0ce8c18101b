// A line with a length: carries packets between two tun devices, and holds each back for as long as
// the last line of standard input says. Unlike a proxy it delays the handshake of TCP too.
//
//   line TUN TUN    two open descriptors; standard input has delays in microseconds, and ends it

#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { room = 4096, longest = 1500 };

struct packet {
  long due;
  int size;
  char bytes[longest];
};

static struct direction {
  int from, to;
  unsigned first, next;
  struct packet packets[room];
} directions[2];

static const long second = 1000000000;

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * second + time.tv_nsec;
}

// Reads what has come, writes what is due, and returns the nanoseconds until the next is due.
static long carry(struct direction *line, long delay) {
  for (; line->next - line->first < room; line->next++) {
    struct packet *packet = &line->packets[line->next % room];
    packet->size = read(line->from, packet->bytes, longest);
    if (packet->size <= 0) break;
    packet->due = now() + delay;
  }
  for (; line->first != line->next; line->first++) {
    struct packet *packet = &line->packets[line->first % room];
    long left = packet->due - now();
    if (left > 0) return left;
    if (write(line->to, packet->bytes, packet->size) < 0) continue;  // TCP sends a lost one again.
  }
  return second;
}

int main(int count, char **words) {
  if (count != 3) return 2;
  int tuns[] = {atoi(words[1]), atoi(words[2])};
  for (int i = 0; i < 2; i++) {
    directions[i].from = tuns[i];
    directions[i].to = tuns[!i];
    fcntl(tuns[i], F_SETFL, O_NONBLOCK);
  }
  for (long delay = 0;;) {
    long there = carry(&directions[0], delay), back = carry(&directions[1], delay);
    struct timespec wait = {0, there < back ? there : back};
    if (wait.tv_nsec == second) wait = (struct timespec){1, 0};
    struct pollfd ready[] = {{0, POLLIN, 0}, {tuns[0], POLLIN, 0}, {tuns[1], POLLIN, 0}};
    if (ppoll(ready, 3, &wait, NULL) < 0) return 1;
    char line[32];
    if (ready[0].revents) {
      long size = read(0, line, sizeof line - 1);
      if (size <= 0) return 0;
      line[size] = 0;
      delay = atol(line) * 1000;
    }
  }
}
