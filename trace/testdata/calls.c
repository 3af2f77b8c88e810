/*
 * Makes the calls of libpcp_trace that standard input asks for, one a line,
 * and prints what each returns.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <pcp/trace.h>

/* The nanoseconds that so many points take. */
static long points(const char *tag, int count)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    while (count-- > 0)
	if (pmtracepoint(tag) < 0)
	    return -1;
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * 1000000000L + to.tv_nsec - from.tv_nsec;
}

int main(void)
{
    char line[1024], call[32], tag[512];
    double value;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
	int n, result = 0;
	tag[0] = '\0';
	value = 0;
	n = sscanf(line, "%31s %511s %lf", call, tag, &value);
	if (n >= 2 && strcmp(tag, "-") == 0)
	    tag[0] = '\0';
	if (strcmp(call, "begin") == 0)
	    result = pmtracebegin(tag);
	else if (strcmp(call, "end") == 0)
	    result = pmtraceend(tag);
	else if (strcmp(call, "abort") == 0)
	    result = pmtraceabort(tag);
	else if (strcmp(call, "point") == 0)
	    result = pmtracepoint(tag);
	else if (strcmp(call, "obs") == 0)
	    result = pmtraceobs(tag, value);
	else if (strcmp(call, "counter") == 0)
	    result = pmtracecounter(tag, value);
	else if (strcmp(call, "state") == 0 && sscanf(tag, "%d", &n) == 1)
	    result = pmtracestate(n);
	else if (strcmp(call, "points") == 0) {
	    printf("%ld\n", points(tag, (int)value));
	    continue;
	} else if (strcmp(call, "text") == 0 && sscanf(tag, "%d", &n) == 1) {
	    printf("%s\n", pmtraceerrstr(n));
	    continue;
	} else {
	    printf("unknown call %s\n", line);
	    return 2;
	}
	printf("%d\n", result);
    }
    return 0;
}
