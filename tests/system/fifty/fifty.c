/* A server whose requests run through fifty functions of equal work: PORT [FUNCTION SHARE].
 * FUNCTION then does more, as much as that share in percent of all their work. */

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FUNCTIONS 50
#define TURNS 150
#define MOST 256

static volatile long sink;

/* A multiplication waits for the one before: a turn takes the same time wherever the loop lies. */
#define WORK(number)                                                \
	__attribute__((noinline)) static void work_##number(long turns) \
	{                                                           \
		unsigned long value = number;                       \
		for (long turn = 0; turn < turns; turn++)           \
			value = value * 6364136223846793005UL + 1;  \
		sink = value;                                       \
	}

#define TEN(tens, of)                                                                          \
	of(tens##0) of(tens##1) of(tens##2) of(tens##3) of(tens##4)                            \
	of(tens##5) of(tens##6) of(tens##7) of(tens##8) of(tens##9)
#define ALL(of) TEN(1, of) TEN(2, of) TEN(3, of) TEN(4, of) TEN(5, of)
#define NAME(number) work_##number,

ALL(WORK)

static void (*const functions[FUNCTIONS])(long) = { ALL(NAME) };

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

int main(int count, char **arguments)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct pollfd open[MOST] = { { .events = POLLIN } };
	long turns[FUNCTIONS];
	char request[4096];
	int used = 1, yes = 1;

	for (int at = 0; at < FUNCTIONS; at++)
		turns[at] = TURNS;
	if (count > 3)
		turns[atoi(arguments[2]) - 10] += atof(arguments[3]) / 100 * FUNCTIONS * TURNS;
	address.sin_port = htons(atoi(arguments[1]));
	open[0].fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(open[0].fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(open[0].fd, (struct sockaddr *)&address, sizeof address) || listen(open[0].fd, MOST))
		return 1;
	while (poll(open, used, -1) > 0) {
		if (open[0].revents && used < MOST) {
			open[used].fd = accept(open[0].fd, NULL, NULL);
			setsockopt(open[used].fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
			open[used].revents = 0;
			open[used++].events = POLLIN;
		}
		for (int at = used - 1; at > 0; at--) {
			if (!open[at].revents)
				continue;
			/* The load generator sends a request in one piece, and the next after the answer. */
			if (read(open[at].fd, request, sizeof request) <= 0) {
				close(open[at].fd);
				open[at] = open[--used];
				continue;
			}
			for (int function = 0; function < FUNCTIONS; function++)
				functions[function](turns[function]);
			if (write(open[at].fd, answer, sizeof answer - 1) < 0)
				open[at].revents = 0;
		}
	}
	return 1;
}
