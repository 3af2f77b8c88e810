/*
 * Measures derived metrics of the C library: nanoseconds of the processor.
 *
 *	derivedbench write ARCHIVE	makes an archive of bench.x, a counter, and bench.y, of 1000 instances
 *	derivedbench fetch ARCHIVE N EXPRESSION...
 *					for a fetch of a metric that is the expression, or, if it is -,
 *					of bench.x and bench.y: one line each
 *	derivedbench load PATH		for loading definitions from files: metrics, and all the time
 */
#include "bench.h"

#define INSTANCES 1000
#define RECORDS 200

static void
write_archive(const char *path)
{
	pmUnits pure = { 0 }, count = { .dimCount = 1 };
	pmInDom indom = pmInDom_build(60, 1);
	char name[64], value[64];
	int i, r;

	check(pmiStart(path, 0));
	check(pmiSetTimezone("UTC"));
	check(pmiAddMetric("bench.x", pmID_build(60, 0, 0), PM_TYPE_U64, indom, PM_SEM_COUNTER, count));
	check(pmiAddMetric("bench.y", pmID_build(60, 0, 1), PM_TYPE_U32, indom, PM_SEM_INSTANT, pure));
	for (i = 0; i < INSTANCES; i++) {
		snprintf(name, sizeof name, "instance-%d", i);
		check(pmiAddInstance(indom, name, i));
	}
	for (r = 0; r < RECORDS; r++) {
		for (i = 0; i < INSTANCES; i++) {
			snprintf(name, sizeof name, "instance-%d", i);
			snprintf(value, sizeof value, "%d", 5000000 + r * (i + 1));
			check(pmiPutValue("bench.x", name, value));
			snprintf(value, sizeof value, "%d", 1 + i);
			check(pmiPutValue("bench.y", name, value));
		}
		check(pmiWrite(1700000000 + r, 0));
	}
	check(pmiEnd());
}

static void
fetch(const char *path, const char *expr, int n)
{
	const char *names[] = { "bench.x", "bench.y" };
	char metric[64];
	static int serial;
	struct timeval start = { 0 };
	pmResult *r;
	pmID ids[2];
	int i, sts, context, many = 2;
	double begin;

	context = check(pmNewContext(PM_CONTEXT_ARCHIVE, path));
	if (strcmp(expr, "-") != 0) {
		snprintf(metric, sizeof metric, "bench.derived%d", serial++);
		names[0] = metric;
		many = 1;
		if (pmAddDerived(metric, expr) != NULL)
			exit(1);
	}
	check(pmLookupName(many, names, ids));
	begin = now(CLOCK_PROCESS_CPUTIME_ID);
	for (i = 0; i < n; i++) {
		if ((sts = pmFetch(many, ids, &r)) == PM_ERR_EOL) {
			check(pmSetMode(PM_MODE_FORW, &start, 0));
			sts = pmFetch(many, ids, &r);
		}
		check(sts);
		if (i > 0 && r->vset[0]->numval < 1)
			exit(2);
		pmFreeResult(r);
	}
	printf("%.0f\n", (now(CLOCK_PROCESS_CPUTIME_ID) - begin) / n);
	pmDestroyContext(context);
}

int
main(int argc, char **argv)
{
	double begin;
	int i;

	setenv("PCP_DERIVED_CONFIG", "", 1);
	if (argc == 3 && strcmp(argv[1], "write") == 0)
		write_archive(argv[2]);
	else if (argc > 4 && strcmp(argv[1], "fetch") == 0) {
		for (i = 4; i < argc; i++)
			fetch(argv[2], argv[i], atoi(argv[3]));
	}
	else if (argc == 3 && strcmp(argv[1], "load") == 0) {
		begin = now(CLOCK_PROCESS_CPUTIME_ID);
		i = check(pmLoadDerivedConfig(argv[2]));
		printf("%d %.0f\n", i, now(CLOCK_PROCESS_CPUTIME_ID) - begin);
	}
	else
		return 1;
	return 0;
}
