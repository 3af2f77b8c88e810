/* What the programs that measure the C library have in common. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pcp/pmapi.h>
#include <pcp/import.h>

static double
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int
check(int sts)
{
	if (sts < 0) {
		fprintf(stderr, "%s\n", pmErrStr(sts));
		exit(1);
	}
	return sts;
}
