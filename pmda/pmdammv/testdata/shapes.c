/*
 * Writes MMV files with everything that libpcp_mmv can put into one, for the tests of the agent: into $PCP_TMP_DIR/mmv.
 *
 *	cc -o shapes shapes.c -lpcp_mmv -lpcp && PCP_TMP_DIR=... ./shapes
 */
#include <pcp/pmapi.h>
#include <pcp/mmv_stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT MMV_UNITS(0, 0, 1, 0, 0, PM_COUNT_ONE)
#define NONE MMV_UNITS(0, 0, 0, 0, 0, 0)
#define USEC MMV_UNITS(0, 1, 0, 0, PM_TIME_USEC, 0)
#define KB_PER_S MMV_UNITS(1, -1, 0, PM_SPACE_KBYTE, PM_TIME_SEC, 0)

static void *start(mmv_registry_t *r, const char *name)
{
    void *addr = mmv_stats_start(r);
    if (addr == NULL) {
	perror(name);
	exit(1);
    }
    return addr;
}

/* One metric of each type and semantics, with all texts. */
static void types(const char *name, int cluster, int flags)
{
    static const struct {
	const char *name;
	mmv_metric_type_t type;
	mmv_metric_sem_t sem;
	double value;
    } all[] = {
	{ "i32", MMV_TYPE_I32, MMV_SEM_INSTANT, -7 },
	{ "u32", MMV_TYPE_U32, MMV_SEM_COUNTER, 4294967295.0 },
	{ "i64", MMV_TYPE_I64, MMV_SEM_DISCRETE, -70000000000.0 },
	{ "u64", MMV_TYPE_U64, MMV_SEM_COUNTER, 70000000000.0 },
	{ "flt", MMV_TYPE_FLOAT, MMV_SEM_INSTANT, 1.5 },
	{ "dbl", MMV_TYPE_DOUBLE, MMV_SEM_INSTANT, -2.25 },
	{ "elapsed", MMV_TYPE_ELAPSED, MMV_SEM_INSTANT, 123456 },
	{ "none", MMV_TYPE_NOSUPPORT, MMV_SEM_INSTANT, 0 },
    };
    int i, n = sizeof all / sizeof all[0];
    mmv_registry_t *r = mmv_stats_registry(name, cluster, flags);
    for (i = 0; i < n; i++)
	mmv_stats_add_metric(r, all[i].name, i, all[i].type, all[i].sem, (pmUnits)COUNT, 0, "One line", "More than\none line");
    mmv_stats_add_metric(r, "str", n, MMV_TYPE_STRING, MMV_SEM_DISCRETE, (pmUnits)NONE, 0, "A string", NULL);
    mmv_stats_add_metric(r, "empty", n + 1, MMV_TYPE_STRING, MMV_SEM_INSTANT, (pmUnits)NONE, 0, NULL, NULL);
    mmv_stats_add_metric(r, "deep.er.name_1", n + 2, MMV_TYPE_U64, MMV_SEM_INSTANT, (pmUnits)KB_PER_S, 0, NULL, "Only help");
    mmv_stats_add_metric(r, "bad-name", n + 3, MMV_TYPE_U64, MMV_SEM_INSTANT, (pmUnits)NONE, 0, NULL, NULL);
    mmv_stats_add_metric(r, "1st", n + 4, MMV_TYPE_U64, MMV_SEM_INSTANT, (pmUnits)NONE, 0, "Begins with a digit", NULL);
    mmv_stats_add_metric(r, "big", 5000, MMV_TYPE_U64, MMV_SEM_INSTANT, (pmUnits)NONE, 0, "Too large an item", NULL);
    void *addr = start(r, name);
    for (i = 0; i < n; i++)
	mmv_stats_set(addr, all[i].name, NULL, all[i].value);
    mmv_stats_set_string(addr, "str", NULL, "text with \"quotes\"");
}

/* Domains, with labels of every class. */
static void domains(const char *name, int cluster, int labels)
{
    mmv_registry_t *r = mmv_stats_registry(name, cluster, 0);
    mmv_stats_add_indom(r, 3, "Colours", "All the colours\nthere are");
    mmv_stats_add_instance(r, 3, 7, "red");
    mmv_stats_add_instance(r, 3, 2, "green light");
    mmv_stats_add_instance(r, 3, 5, "blue");
    mmv_stats_add_indom(r, 9, NULL, NULL);
    mmv_stats_add_instance(r, 9, 0, "only");
    mmv_stats_add_metric(r, "by.colour", 1, MMV_TYPE_U32, MMV_SEM_COUNTER, (pmUnits)COUNT, 3, "By colour", NULL);
    mmv_stats_add_metric(r, "by.other", 2, MMV_TYPE_DOUBLE, MMV_SEM_INSTANT, (pmUnits)NONE, 9, NULL, NULL);
    mmv_stats_add_metric(r, "state", 3, MMV_TYPE_STRING, MMV_SEM_INSTANT, (pmUnits)NONE, 3, NULL, NULL);
    mmv_stats_add_metric(r, "spent", 4, MMV_TYPE_ELAPSED, MMV_SEM_COUNTER, (pmUnits)USEC, 3, NULL, NULL);
    if (labels) {
	mmv_stats_add_registry_label(r, "app", "\"demo\"", MMV_STRING_TYPE, 0);
	mmv_stats_add_registry_label(r, "tier", "1", MMV_NUMBER_TYPE, 1);
	mmv_stats_add_indom_label(r, 3, "palette", "\"rgb\"", MMV_STRING_TYPE, 0);
	mmv_stats_add_metric_label(r, 1, "critical", "true", MMV_BOOLEAN_TYPE, 1);
	mmv_stats_add_metric_label(r, 1, "tier", "2", MMV_NUMBER_TYPE, 0);
	mmv_stats_add_metric_label(r, 3, "map", "{\"a\":1,\"b\":[1,2]}", MMV_MAP_TYPE, 0);
	mmv_stats_add_instance_label(r, 3, 2, "wave", "530", MMV_NUMBER_TYPE, 0);
	mmv_stats_add_instance_label(r, 3, 2, "name", "\"green\"", MMV_STRING_TYPE, 0);
	mmv_stats_add_instance_label(r, 3, 7, "none", "", MMV_NULL_TYPE, 0);
    }
    void *addr = start(r, name);
    mmv_stats_set(addr, "by.colour", "red", 11);
    mmv_stats_set(addr, "by.colour", "blue", 33);
    mmv_stats_set(addr, "by.other", "only", 0.125);
    mmv_stats_set_string(addr, "state", "green light", "on");
    mmv_stats_set(addr, "spent", "red", 5000000);
}

/* An interval that is in progress. */
static void interval(const char *name, int cluster)
{
    mmv_registry_t *r = mmv_stats_registry(name, cluster, 0);
    mmv_stats_add_metric(r, "running", 1, MMV_TYPE_ELAPSED, MMV_SEM_COUNTER, (pmUnits)USEC, 0, NULL, NULL);
    mmv_stats_interval_start(start(r, name), NULL, "running", NULL);
}

/* A name that needs version 2. */
static void longname(const char *name, int cluster)
{
    char metric[201];
    mmv_registry_t *r = mmv_stats_registry(name, cluster, 0);
    memset(metric, 'n', sizeof metric);
    metric[200] = 0;
    mmv_stats_add_metric(r, metric, 1, MMV_TYPE_U32, MMV_SEM_INSTANT, (pmUnits)NONE, 0, "Long", NULL);
    mmv_stats_set(start(r, name), metric, NULL, 5);
}

/* Values that mean that there is none. */
static void sentinels(const char *name, int cluster, int flags)
{
    mmv_registry_t *r = mmv_stats_registry(name, cluster, flags);
    pmAtomValue ones = { .ull = 0xffffffffffffffffull };
    mmv_stats_add_metric(r, "i32", 1, MMV_TYPE_I32, MMV_SEM_INSTANT, (pmUnits)NONE, 0, NULL, NULL);
    mmv_stats_add_metric(r, "minus", 2, MMV_TYPE_I32, MMV_SEM_INSTANT, (pmUnits)NONE, 0, NULL, NULL);
    mmv_stats_add_metric(r, "u64", 3, MMV_TYPE_U64, MMV_SEM_INSTANT, (pmUnits)NONE, 0, NULL, NULL);
    mmv_stats_add_metric(r, "str", 4, MMV_TYPE_STRING, MMV_SEM_INSTANT, (pmUnits)NONE, 0, NULL, NULL);
    mmv_stats_add_metric(r, "spent", 5, MMV_TYPE_ELAPSED, MMV_SEM_COUNTER, (pmUnits)USEC, 0, NULL, NULL);
    void *addr = start(r, name);
    mmv_set_atomvalue(addr, mmv_lookup_value_desc(addr, "i32", NULL), &ones);
    mmv_stats_set(addr, "minus", NULL, -1);
    mmv_set_atomvalue(addr, mmv_lookup_value_desc(addr, "u64", NULL), &ones);
    mmv_set_atomvalue(addr, mmv_lookup_value_desc(addr, "spent", NULL), &ones);
}

int main(void)
{
    types("types", 100, 0);
    types("noprefix", 101, MMV_FLAG_NOPREFIX);
    types("has-dash", 102, 0);
    types("dotted.name", 103, 0);
    types("auto1", 0, 0);
    types("auto2", 0, 0);
    types("takes1", 1, 0);
    domains("domains", 110, 0);
    domains("labels", 111, 1);
    domains("same_cluster", 111, 0); /* with labels, they corrupt the memory of the C agent */
    domains("large_cluster", 2200, 0);
    domains("overlaps", 152, 0);
    interval("interval", 120);
    longname("longname", 130);
    sentinels("sentinels", 140, MMV_FLAG_SENTINEL);
    sentinels("no_sentinels", 141, 0);
    types("control", 150, 0);
    types("dead", 151, MMV_FLAG_PROCESS);
    start(mmv_stats_registry("nothing", 160, 0), "nothing");
    return 0;
}
