/* An HTTP/2 server without TLS, of which one request in RARE is slow: slow_h2 PORT CAUSE. It answers the requests of
 * all connections one after the other. */

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RARE 300
#define SLOW_NS 20000000L
#define PREFACE 24
#define HEADER 9
#define MOST 1024
#define HEADERS 1
#define SETTINGS 4
#define PING 6
#define ACK 1

/* What a connection sent of a frame that is not whole yet. */
struct client {
	unsigned char bytes[32768];
	size_t length;
	_Bool greeted;
};

static struct client *clients[MOST];
static _Bool sleeps;
static long requests;

static void put(int to, const void *bytes, size_t length)
{
	if (write(to, bytes, length) != (ssize_t)length)
		exit(4);
}

/* The status 200, then two bytes of data. */
static void answer(int to, const unsigned char *stream)
{
	unsigned char both[] = {0, 0, 1, 1, 4, 0, 0, 0, 0, 0x88, 0, 0, 2, 0, 1, 0, 0, 0, 0, 'o', 'k'};
	struct timespec time = {0, SLOW_NS};

	memcpy(both + 5, stream, 4);
	memcpy(both + 15, stream, 4);
	if (++requests % RARE == 0 && sleeps)
		nanosleep(&time, NULL);
	put(to, both, sizeof(both));
}

static void reply(int to, const unsigned char *frame, size_t length)
{
	static const unsigned char settled[HEADER] = {0, 0, 0, SETTINGS, ACK};
	unsigned char pong[HEADER + 8] = {0, 0, 8, PING, ACK};

	if (frame[3] == HEADERS)
		answer(to, frame + 5);
	if (frame[3] == SETTINGS && !(frame[4] & ACK))
		put(to, settled, sizeof(settled));
	if (frame[3] == PING && !(frame[4] & ACK) && length == 8) {
		memcpy(pong + HEADER, frame + HEADER, 8);
		put(to, pong, sizeof(pong));
	}
}

/* Return false when the connection has ended. */
static _Bool serve(int from)
{
	struct client *client = clients[from];
	ssize_t got = read(from, client->bytes + client->length, sizeof(client->bytes) - client->length);
	size_t at = 0;

	if (got <= 0)
		return 0;
	client->length += got;
	if (!client->greeted && client->length >= PREFACE) {
		client->greeted = 1;
		at = PREFACE;
	}
	while (client->greeted && client->length - at >= HEADER) {
		const unsigned char *frame = client->bytes + at;
		size_t length = frame[0] << 16 | frame[1] << 8 | frame[2];

		if (client->length - at < HEADER + length)
			break;
		reply(from, frame, length);
		at += HEADER + length;
	}
	client->length -= at;
	memmove(client->bytes, client->bytes + at, client->length);
	return 1;
}

int main(int count, char **words)
{
	static const unsigned char settings[HEADER] = {0, 0, 0, SETTINGS};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
	int one = 1, server = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = server}, events[64];

	sleeps = count > 2 && !strcmp(words[2], "sleep");
	signal(SIGPIPE, SIG_IGN);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(server, (struct sockaddr *)&address, sizeof(address)) || listen(server, 128))
		return 3;
	epoll_ctl(poll, EPOLL_CTL_ADD, server, &event);
	for (;;) {
		int ready = epoll_wait(poll, events, 64, -1);

		for (int at = 0; at < ready; at++) {
			int client = events[at].data.fd;

			if (client != server) {
				if (!serve(client))
					close(client);
				continue;
			}
			client = accept(server, NULL, NULL);
			if (client < 0 || client >= MOST)
				return 5;
			free(clients[client]);
			clients[client] = calloc(1, sizeof(struct client));
			setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			put(client, settings, sizeof(settings));
			event.data.fd = client;
			epoll_ctl(poll, EPOLL_CTL_ADD, client, &event);
		}
	}
}
