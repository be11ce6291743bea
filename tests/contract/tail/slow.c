/* A server whose slow requests have a known cause: slow PORT CAUSE. One thread answers all connections. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* One request in so many is slow, by about so many nanoseconds. */
#define RARE 300
#define SLOW_NS 20000000L

static const char ANSWER[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nap(long ns)
{
	struct timespec time = {0, ns};

	nanosleep(&time, NULL);
}

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void spin(void)
{
	long end = now() + SLOW_NS;

	while (now() < end)
		;
}

static void *hold_lock(void *unused)
{
	for (;;) {
		nap(200000000);
		pthread_mutex_lock(&lock);
		nap(SLOW_NS);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void write_through(void)
{
	static char page[1 << 20];
	int file = open("slow.data", O_CREAT | O_WRONLY | O_TRUNC, 0600);

	for (int count = 0; count < 16; count++) {
		if (write(file, page, sizeof(page)) != sizeof(page))
			exit(4);
		fsync(file);
	}
	close(file);
}

static int listen_on(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int one = 1, server = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(server, (struct sockaddr *)&address, sizeof(address)) || listen(server, 128))
		exit(3);
	return server;
}

/* Another server, which answers a byte with a byte, and one in RARE late. */
static int backend(void)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);
	int one = 1, client, server = listen_on(0);
	char byte;

	getsockname(server, (struct sockaddr *)&address, &length);
	if (fork() == 0) {
		client = accept(server, NULL, NULL);
		setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		for (int count = 1; read(client, &byte, 1) == 1; count++) {
			if (count % RARE == 0)
				nap(SLOW_NS);
			if (write(client, &byte, 1) != 1)
				break;
		}
		exit(0);
	}
	close(server);
	client = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(client, (struct sockaddr *)&address, length))
		exit(3);
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return client;
}

int main(int count, char **words)
{
	const char *cause = count > 2 ? words[2] : "none";
	int server, other = -1, one = 1, poll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN}, events[64];
	pthread_t thread;
	char request[4096], byte = 'x';
	long requests = 0;

	signal(SIGPIPE, SIG_IGN);
	server = listen_on(atoi(words[1]));
	if (!strcmp(cause, "backend"))
		other = backend();
	if (!strcmp(cause, "lock"))
		pthread_create(&thread, NULL, hold_lock, NULL);
	event.data.fd = server;
	epoll_ctl(poll, EPOLL_CTL_ADD, server, &event);
	for (;;) {
		int ready = epoll_wait(poll, events, 64, -1);

		for (int at = 0; at < ready; at++) {
			int client = events[at].data.fd;
			_Bool slow;

			if (client == server) {
				event.data.fd = accept(server, NULL, NULL);
				setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
				epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
				continue;
			}
			if (read(client, request, sizeof(request)) <= 0) {
				close(client);
				continue;
			}
			slow = ++requests % RARE == 0;
			if (!strcmp(cause, "lock")) {
				pthread_mutex_lock(&lock);
				pthread_mutex_unlock(&lock);
			}
			if (other >= 0 && (write(other, &byte, 1) != 1 || read(other, &byte, 1) != 1))
				exit(5);
			if (slow && !strcmp(cause, "sleep"))
				nap(SLOW_NS);
			if (slow && !strcmp(cause, "disk"))
				write_through();
			if (slow && !strcmp(cause, "own"))
				spin();
			if (write(client, ANSWER, sizeof(ANSWER) - 1) < 0)
				close(client);
			if (slow && !strcmp(cause, "housekeeping"))
				spin();
		}
	}
}
