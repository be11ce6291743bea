/* A process that does what its standard input says, a command a line, and answers each with "done". */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURN 1000000

static volatile long sink;
static char block[1 << 20];

__attribute__((noinline)) void heavy_part(long turns)
{
	for (long i = 0; i < 7 * TURN * turns; i++)
		sink += i;
}

__attribute__((noinline)) void light_part(long turns)
{
	for (long i = 0; i < 3 * TURN * turns; i++)
		sink += i;
}

__attribute__((noinline)) void burn(long turns)
{
	for (long i = 0; i < turns; i++) {
		heavy_part(1);
		light_part(1);
	}
}

static void in_handler(int unused)
{
	(void)unused;
	burn(30);
}

/* Burn in a handler that interrupts this function. */
__attribute__((noinline)) void interrupted(void)
{
	signal(SIGUSR1, in_handler);
	raise(SIGUSR1);
	sink++;
}

static void *in_thread(void *turns)
{
	burn(*(long *)turns);
	return turns;
}

static void thread_burns(long turns)
{
	pthread_t other;

	if (pthread_create(&other, NULL, in_thread, &turns))
		abort();
	pthread_join(other, NULL);
}

static void calls(long count)
{
	int null = open("/dev/null", O_WRONLY);

	for (long i = 0; i < count; i++) {
		syscall(SYS_getppid);
		if (write(null, "12345", 5) != 5)
			abort();
	}
	close(null);
}

static void child(long count, const char *program)
{
	int number = fork();

	if (!number) {
		char text[32];

		if (program) {
			snprintf(text, sizeof text, "%ld", count);
			execl(program, program, text, NULL);
			abort();
		}
		for (long i = 0; i < count; i++)
			syscall(SYS_getppid);
		burn(2);
		_exit(0);
	}
	waitpid(number, NULL, 0);
}

static void *thread(void *unused)
{
	syscall(SYS_getppid);
	return unused;
}

static void threads(long count)
{
	pthread_t *all = calloc(count, sizeof *all);
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (long i = 0; i < count; i++)
		if (pthread_create(&all[i], &small, thread, NULL))
			abort();
	for (long i = 0; i < count; i++)
		pthread_join(all[i], NULL);
	free(all);
}

static void zeros(long count)
{
	int zero = open("/dev/zero", O_RDONLY);

	for (long i = 0; i < count; i++)
		if (read(zero, block, sizeof block) != sizeof block)
			abort();
	close(zero);
}

/* A loop in memory that only a perf map names. */
static void jit(long turns)
{
#if defined(__x86_64__)
	static const unsigned char loop[] = {
		0x48, 0x89, 0xf9, /* mov rcx, rdi */
		0x48, 0xff, 0xc9, /* dec rcx */
		0x75, 0xfb,       /* jnz -5 */
		0xc3,             /* ret */
	};
#elif defined(__aarch64__)
	static const unsigned int loop[] = {
		0xf1000400, /* subs x0, x0, #1 */
		0x54ffffe1, /* b.ne -4 */
		0xd65f03c0, /* ret */
	};
#endif
	int rights = PROT_READ | PROT_WRITE | PROT_EXEC;
	void *page = mmap(NULL, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	memcpy(page, loop, sizeof loop);
	__builtin___clear_cache(page, (char *)page + sizeof loop);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map)
		abort();
	fprintf(map, "%lx %zx jitted loop\n", (long)page, sizeof loop);
	fclose(map);
	((void (*)(long))page)(turns * 100 * TURN);
}

int main(int count, char **arguments)
{
	char line[64], word[16];
	long number, length;

	if (count > 1) {
		calls(atol(arguments[1]));
		return 0;
	}
	while ((length = read(0, line, sizeof line - 1)) > 0) {
		line[length] = 0;
		if (sscanf(line, "%15s %ld", word, &number) != 2)
			abort();
		if (!strcmp(word, "burn"))
			burn(number);
		else if (!strcmp(word, "thread"))
			thread_burns(number);
		else if (!strcmp(word, "signal"))
			interrupted();
		else if (!strcmp(word, "calls"))
			calls(number);
		else if (!strcmp(word, "fork"))
			child(number, NULL);
		else if (!strcmp(word, "run"))
			child(number, arguments[0]);
		else if (!strcmp(word, "threads"))
			threads(number);
		else if (!strcmp(word, "zeros"))
			zeros(number);
		else if (!strcmp(word, "jit"))
			jit(number);
		else if (!strcmp(word, "sleep"))
			usleep(number * 1000);
		if (write(1, "done\n", 5) != 5)
			abort();
	}
	return 0;
}
