/*
 * Measures fetch groups of the C library.
 *
 *	groupbench write ARCHIVE N RECORDS
 *			makes an archive of the counters bench.m0 to bench.m(N-1)
 *	groupbench fetch archive|host NAME N FETCHES
 *			fetches a group of their rates: answers the nanoseconds of the
 *			processor and of the clock for a fetch, and the sum of the last rates
 */
#include "bench.h"

#define MOST 4096

static void
write_archive(const char *path, int n, int records)
{
	pmUnits bytes = { .dimSpace = 1, .scaleSpace = PM_SPACE_BYTE };
	char name[64], value[64];
	int i, r;
	int *handles = calloc(n, sizeof(*handles));

	check(pmiStart(path, 0));
	check(pmiSetTimezone("UTC"));
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof name, "bench.m%d", i);
		check(pmiAddMetric(name, pmID_build(60, i / 1000, i % 1000), PM_TYPE_U64, PM_INDOM_NULL, PM_SEM_COUNTER, bytes));
		handles[i] = check(pmiGetHandle(name, ""));
	}
	for (r = 0; r < records; r++) {
		for (i = 0; i < n; i++) {
			snprintf(value, sizeof value, "%d", 5000000 + r * (i + 1));
			check(pmiPutValueHandle(handles[i], value));
		}
		check(pmiWrite(1700000000 + r, 0));
	}
	check(pmiEnd());
}

static void
fetch(int type, const char *source, int n, int fetches)
{
	static pmAtomValue values[MOST];
	static int statuses[MOST];
	char name[64];
	pmFG group;
	double cpu, clock, sum = 0;
	int i;

	check(pmCreateFetchGroup(&group, type, source));
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof name, "bench.m%d", i);
		check(pmExtendFetchGroup_item(group, name, NULL, NULL, &values[i], PM_TYPE_DOUBLE, &statuses[i]));
	}
	for (i = 0; i < 3; i++)
		check(pmFetchGroup(group));
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	clock = now(CLOCK_MONOTONIC);
	for (i = 0; i < fetches; i++)
		check(pmFetchGroup(group));
	cpu = (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / fetches;
	clock = (now(CLOCK_MONOTONIC) - clock) / fetches;
	for (i = 0; i < n; i++) {
		check(statuses[i]);
		sum += values[i].d;
	}
	printf("%.1f %.1f %.17g\n", cpu, clock, sum);
	check(pmDestroyFetchGroup(group));
}

int
main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "write") == 0)
		write_archive(argv[2], atoi(argv[3]), atoi(argv[4]));
	else if (argc == 6 && atoi(argv[4]) <= MOST)
		fetch(strcmp(argv[2], "archive") == 0 ? PM_CONTEXT_ARCHIVE : PM_CONTEXT_HOST, argv[3], atoi(argv[4]), atoi(argv[5]));
	else
		return 2;
	return 0;
}
